"""OneTool over pipes, with MCP servers whose resources and prompts are files."""

import json
import sys
from contextlib import suppress

import yaml

from onetool.bootstrap import open_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.mcp_client import create_home
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.raw_mcp import LEGACY, RawMcpClient

SCRIPT = str(MCP_SERVERS / "contents_server.py")
NAMES = ("one", "two", "my_notes")


class World:
    """OneTool with servers whose offers are files."""

    def __init__(
        self, root, version=LEGACY, *, names=NAMES, expose="all", modern=False, arguments=(), **settings
    ):
        self.home = create_home(root)
        servers = {
            name: {
                "command": sys.executable,
                "args": ["-I", SCRIPT, str(root / name), *(["modern"] if modern else [])],
                "sandbox": False,
            }
            for name in names
        }
        config = {"servers": servers, "expose": expose, "approval": {"mcp": "allow"}}
        self.home.write("onetool.yaml", yaml.safe_dump(config | settings, sort_keys=False))
        self.root, self.version, self.arguments = root, version, arguments
        self.names, self.is_prepared = names, False
        self.client = None

    def settings(self):
        return yaml.safe_load((self.home.root / "config" / "onetool.yaml").read_text())

    def offer(self, name, **offer):
        file = self.root / name
        old = json.loads(file.read_text()) if file.is_file() else {}
        (self.root / f"{name}.new").write_text(json.dumps(old | offer))
        (self.root / f"{name}.new").replace(file)

    def requests(self, name):
        """Return the methods that a server received."""
        file = self.root / f"{name}.requests"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def approve(self, name):
        onetool("servers", "approve", name, "--yes", env=self.home.env, cwd=self.home.cwd)

    def open(self):
        """Open a runtime in this process that waits for the servers."""
        paths = find_paths(self.home.env, self.home.cwd)
        return open_runtime(lambda: load_configuration(paths, {}), waits_for_servers=True)

    def start(self):
        if not self.is_prepared and self.names:
            self.is_prepared = True  # on a loaded machine, a first start takes longer than a listing waits
            onetool("servers", "test", *self.names, env=self.home.env, cwd=self.home.cwd)
        command = ["onetool", "mcp", *self.arguments]
        self.client = RawMcpClient(self.version, self.home.env, self.home.cwd, command)
        self.handshake = self.client.initialize()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        """End the process in an orderly way, so that its coverage is written."""
        try:
            with suppress(OSError):
                self.client.close()
        finally:
            self.client.kill()

    def request(self, method, **params):
        response = self.client.request(method, **params)
        assert "result" in response, response
        return response["result"]

    def error(self, method, **params):
        return self.client.request(method, **params)["error"]

    def list(self, method, field):
        items, cursor = [], {}
        while True:
            page = self.request(method, **cursor)
            items += page[field]
            if "nextCursor" not in page:
                return items
            cursor = {"cursor": page["nextCursor"]}
