"""letters: what customers are told."""

from mcp.server import MCPServer

server = MCPServer("letters")


@server.tool()
def apology(number: int, article: str) -> dict[str, str]:
    """Write to a customer that an order takes longer."""
    return {"letter": f"Order {number}: the {article} is sold out. We send it as soon as we can."}


server.run()
