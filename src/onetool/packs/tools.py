"""tools: probes of the way a call takes."""

from typing import Any

from onetool.sdk import tool

pack = "tools"


@tool(cacheable=True, parallel=True)
def echo(message: Any) -> Any:
    """Give the message back exactly as it came, to check that calls get through.

    Args:
        message: Any JSON value.

    Returns:
        The same value.

    Example:
        tools.echo(message="hi")
    """
    return message
