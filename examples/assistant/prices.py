"""prices: prices of articles; requires a key in the environment."""

import os

from mcp.server import MCPServer

server = MCPServer("prices")
EUROS = {"lamp": 40.0, "desk": 310.0, "chair": 95.5}


@server.tool()
def price(article: str) -> dict[str, float]:
    """Return the price of an article in euros."""
    if not os.environ.get("SHOP_KEY"):
        raise PermissionError("SHOP_KEY is not set")
    return {"euros": EUROS[article]}


server.run()
