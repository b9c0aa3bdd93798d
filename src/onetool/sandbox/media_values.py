"""Media in the sandbox: objects with three attributes. Their bytes stay in the host."""

from typing import Any

from onetool.domain.content.media import Media

ATTRIBUTES = ("mime_type", "size", "handle")


def wrap_media(value: Any) -> Any:
    """Return a value for the sandbox. When the code returns its media, the host gets its own objects back."""
    if isinstance(value, dict):
        return {key: wrap_media(item) for key, item in value.items()}
    if isinstance(value, list):
        return [wrap_media(item) for item in value]
    if not isinstance(value, Media):
        return value
    from pydantic_monty import ClassInstance

    return ClassInstance(value, eager_attrs=ATTRIBUTES)
