"""A FastMCP proxy for one stdio server, as in its documentation: `fastmcp_proxy.py COMMAND ...`."""

import sys

from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from fastmcp.server import create_proxy  # type: ignore[import-not-found]

create_proxy(StdioTransport(command=sys.argv[1], args=sys.argv[2:])).run(show_banner=False)
