"""Construction of a runtime from a configuration. The only package that knows all adapters."""

from .lifespan import SharedParts, open_runtime, open_shared_parts

__all__ = ["SharedParts", "open_runtime", "open_shared_parts"]
