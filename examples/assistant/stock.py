"""stock: articles in the warehouse."""

from mcp.server import MCPServer

server = MCPServer("stock")
SHELVES = {"lamp": 12, "desk": 2, "chair": 0}


@server.tool()
def count(article: str) -> dict[str, int]:
    """Return how many pieces of an article are in stock."""
    return {"pieces": SHELVES.get(article, 0)}


server.run()
