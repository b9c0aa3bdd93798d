"""The report of a run: date, machine, versions and tables."""

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.figures import Table
from onetool.version import __version__

ROOT = Path(__file__).parent.parent
LATEST = ROOT / "benchmarks" / "results" / "latest.md"
PAGE = ROOT / "docs" / "benchmarks.md"
PACKAGES = (
    "click",
    "fastapi",
    "httpx2",
    "jsonschema-rs",
    "mcp",
    "orjson",
    "pydantic",
    "pydantic-monty",
    "tiktoken",
    "uvicorn",
)


def page(tables: Iterable[Table], peers: Iterable[str], duration_s: float) -> str:
    """Return all tables, preceded by the date, the machine and the versions."""
    now = datetime.now(UTC)
    head = [
        f"Measured on {now:%Y-%m-%d} in {duration_s / 60:.0f} minutes: {_machine()}.",
        f"Python {platform.python_version()}, onetool {__version__}, "
        + ", ".join([*filter(None, map(_version, PACKAGES)), *peers])
        + ".",
    ]
    return "\n".join(head) + "\n\n" + "\n".join(table.markdown() for table in tables)


def write(text: str) -> None:
    """Store the report and insert it into the documentation."""
    LATEST.write_text(text, encoding="utf-8")
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


def with_figures(documentation: str, text: str, recipe: str = "bench") -> str:
    """Return the documentation page with the figures of a `just` recipe replaced."""
    begin, end = (f"<!-- {side}: written by `just {recipe}` -->" for side in ("begin", "end"))
    before, _, rest = documentation.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{text}\n{end}{after}"


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[2]
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.release()}; "
        f"load over the last 15 minutes {load:.1f}"
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""
