"""What a tool may know of the OneTool that runs it."""

from dataclasses import asdict
from typing import Any

from onetool.runtime import Health, current


def get_config(key: str, default: Any = None) -> Any:
    """Return a setting by its dotted path, such as `execution.timeout_s`; `default` where there is none."""
    value: Any = asdict(current().runtime.configuration.settings)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value


async def health() -> Health:
    """Return how the parts of the running OneTool are."""
    return await current().runtime.health()
