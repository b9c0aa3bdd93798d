"""OneTool: one gateway to every tool that a language model uses."""

from typing import Any

from onetool.version import __version__

__all__ = ["__version__", "onetool_runtime"]


def __getattr__(name: str) -> Any:
    """Import the Python interface on first access, so that `import onetool` loads nothing else."""
    if name == "onetool_runtime":
        from onetool.interfaces.python import onetool_runtime

        return onetool_runtime
    raise AttributeError(f"module 'onetool' has no attribute {name!r}")
