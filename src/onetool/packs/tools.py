"""tools: connection tests."""

from typing import Any

from onetool.sdk import tool

pack = "tools"


@tool(cacheable=True, parallel=True)
def echo(message: Any) -> Any:
    """Return the message unchanged. Use it to test the connection.

    Args:
        message: Any JSON value.

    Returns:
        The same value.

    Example:
        tools.echo(message="hi")
    """
    return message
