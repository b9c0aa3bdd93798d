"""Text form of values for models."""

from typing import Any

from .json_text import encode, pretty
from .yaml_text import to_yaml


def to_model_text(value: Any, max_bytes: int) -> str:
    """Return a value as YAML, or as JSON with one element per line if it is larger than `max_bytes`.

    Large values are stored, and JSON allows reading parts of them by path. Serializing them takes long, so
    do not call this on the event loop.
    """
    is_small = isinstance(value, str) or len(encode(value)) <= max_bytes
    return to_yaml(value) if is_small else pretty(value)
