"""Construction of a runtime from a configuration. The only package that knows all adapters."""

from .lifespan import open_runtime

__all__ = ["open_runtime"]
