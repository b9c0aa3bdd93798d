"""A user with one MCP server `s`, whose listing a test writes."""

import json
import sys
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.paths import MCP_SERVERS
from support.user_home import Home


class ListedServer:
    """The settings of a user with one server, and the file with its listing."""

    def __init__(self, home: Home) -> None:
        self.home, self.listing = home, home.root / "listing.json"

    def list(self, *tools: Any, **fields: Any) -> None:
        """Let the server list these tools; other fields are part of its handshake."""
        self.listing.write_text(json.dumps({"tools": tools, "handshake": fields}))

    def configure(self, settings: dict[str, Any] | None = None, **server: Any) -> None:
        """Write the settings."""
        args = ["-I", str(MCP_SERVERS / "listing_server.py"), str(self.listing)]
        entry = {"command": sys.executable, "args": args, "sandbox": False, **server}
        self.home.write("onetool.yaml", json.dumps({"servers": {"s": entry}, **(settings or {})}))

    def open(self) -> Any:
        """Open a runtime that waits for the server."""
        paths = find_paths(self.home.env, self.home.cwd)
        return open_runtime(lambda: load_configuration(paths, {}), waits_for_servers=True)
