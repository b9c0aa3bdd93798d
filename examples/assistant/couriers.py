"""couriers: how long a parcel travels."""

from mcp.server import MCPServer

server = MCPServer("couriers")
DAYS = {"Oslo": 2, "Rome": 4}


@server.tool()
def delivery_days(city: str) -> dict[str, int]:
    """Tell how many days a parcel needs to a city."""
    return {"days": DAYS[city]}


server.run()
