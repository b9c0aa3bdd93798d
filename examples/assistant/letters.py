"""letters: letters to customers."""

from mcp.server import MCPServer

server = MCPServer("letters")


@server.tool()
def apology(number: int, article: str) -> dict[str, str]:
    """Write a letter to a customer about a delayed order."""
    return {"letter": f"Order {number}: the {article} is sold out. We will send it as soon as possible."}


server.run()
