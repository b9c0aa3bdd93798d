"""Tiny wheels for tests that install libraries without a network."""

import zipfile
from pathlib import Path

WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(folder: Path, name: str, version: str, code: str, requires: tuple[str, ...] = ()) -> Path:
    """Write a wheel with one module, and return its file."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {text}\n" for text in requires),
        f"{info}/WHEEL": WHEEL,
    }
    record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return file
