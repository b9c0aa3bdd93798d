"""One place for every tool a language model uses."""

from typing import Any

from onetool.version import __version__

__all__ = ["__version__", "onetool_runtime"]


def __getattr__(name: str) -> Any:
    """Load the Python door when it is asked for, so that `import onetool` itself costs nothing."""
    if name == "onetool_runtime":
        from onetool.doors.python import onetool_runtime

        return onetool_runtime
    raise AttributeError(f"module 'onetool' has no attribute {name!r}")
