"""A value as a model reads it."""

from typing import Any

from .json_text import encode, pretty
from .yaml_text import to_yaml


def readable(value: Any, most_bytes: int) -> str:
    """Structured values are YAML; those that are too large to be read whole are JSON, one element a line.

    So they can be stored and asked for parts. It takes a while for large ones: not for the event loop.
    """
    is_small = isinstance(value, str) or len(encode(value)) <= most_bytes
    return to_yaml(value) if is_small else pretty(value)
