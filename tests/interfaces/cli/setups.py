"""Setups as tests make them: settings of a user, archives, and exports."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import yaml

from support.onetool_process import onetool
from support.user_home import Home


def write_settings(home: Home, settings: Mapping[str, Any]) -> None:
    """Write the settings of a user."""
    home.write("onetool.yaml", yaml.safe_dump(settings, sort_keys=False))


def settings_of(home: Home) -> Any:
    """Return the settings of a user; empty if there is no file."""
    file = home.config / "onetool.yaml"
    return yaml.safe_load(file.read_text()) if file.exists() else {}


def export(name: str = "setup.zip", *words: str) -> "CompletedProcess[str]":
    """Export the setup of the user, which must succeed."""
    done = onetool("export", "setup", name, *words)
    assert done.returncode == 0, done.stderr
    return done


def files_of(content: bytes) -> dict[str, bytes]:
    """Return the files of an archive."""
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zip_of(files: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of these files."""
    output = BytesIO()
    with ZipFile(output, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


def write_setup(home: Home, files: Mapping[str, str | bytes]) -> Path:
    """Write an archive with these files and a manifest, unless it is among them."""
    file = home.cwd / "shared.zip"
    file.write_bytes(zip_of({"setup.yaml": "format: 1\n", **files}))
    return file
