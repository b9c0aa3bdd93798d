"""prices: what articles cost; the shop's key comes from its environment."""

import os

from mcp.server import MCPServer

server = MCPServer("prices")
EUROS = {"lamp": 40.0, "desk": 310.0, "chair": 95.5}


@server.tool()
def price(article: str) -> dict[str, float]:
    """Tell what an article costs, in euros."""
    if not os.environ.get("SHOP_KEY"):
        raise PermissionError("the shop wants a key")
    return {"euros": EUROS[article]}


server.run()
