"""orders: open orders of customers."""

from mcp.server import MCPServer

server = MCPServer("orders")
OPEN = [
    {"number": 7001, "article": "lamp", "pieces": 3, "city": "Oslo"},
    {"number": 7002, "article": "desk", "pieces": 5, "city": "Rome"},
    {"number": 7003, "article": "chair", "pieces": 1, "city": "Oslo"},
]


@server.tool()
def open_orders() -> dict[str, list[dict[str, int | str]]]:
    """List the orders that have not been sent yet."""
    return {"orders": OPEN}


server.run()
