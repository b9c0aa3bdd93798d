"""Settings -> Runtime: the only place that knows every adapter."""

from .opening import open_runtime

__all__ = ["open_runtime"]
