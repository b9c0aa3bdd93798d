"""couriers: delivery times of parcels."""

from mcp.server import MCPServer

server = MCPServer("couriers")
DAYS = {"Oslo": 2, "Rome": 4}


@server.tool()
def delivery_days(city: str) -> dict[str, int]:
    """Return the delivery time of a parcel to a city in days."""
    return {"days": DAYS[city]}


server.run()
