"""OneTool with asking servers of both protocol versions, for clients over stdio and HTTP."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import yaml

from support.asking_client import (
    AskingClient,
    HttpTransport,
    Message,
    StdioTransport,
    count_events,
    read_log,
)
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.raw_mcp import MODERN
from support.rest_process import TOKEN, RestProcess
from support.user_home import Home

COMMANDS = {
    "old": [str(MCP_SERVERS / "asking_server.py"), "--legacy"],
    "new": [str(MCP_SERVERS / "asking_server.py"), "--modern"],
    "tasks": [str(MCP_SERVERS / "task_server.py")],
}
"""How a server is started, by the first word of its name."""


class AskingWorld:
    """One user. Servers are named `old`, `new` or `tasks`, then `_` and anything; `_http` servers use HTTP.

    Processes start when they are first needed, and the clients that `client` returns are shared.
    """

    def __init__(
        self,
        root: Path,
        *names: str,
        expose: str = "all",
        server_settings: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        hosted: Callable[[str], RestProcess] | None = None,
        **settings: Any,
    ) -> None:
        """hosted: returns a running hosted server, with a workspace that has the given settings."""
        self.root, self.names, self.env = root, names, dict(env or {})
        self._open_hosted, self._hosted = hosted, cast("RestProcess | None", None)
        self.home = Home(root / "home", root / "home" / "work")
        self._stack = ExitStack()
        self._clients: dict[tuple[str, ...], AskingClient] = {}
        self._processes: dict[str, RestProcess] = {}
        servers = {name: self._server(name) | (server_settings or {}) for name in names}
        config = {"servers": servers, "expose": expose, "approval": {"mcp": "ask"}} | settings
        self._config, self.settings = config, yaml.safe_dump(config, sort_keys=False)
        self.home.write("onetool.yaml", self.settings)
        self.home.cwd.mkdir(parents=True)

    def __enter__(self) -> "AskingWorld":
        self.prepare(*self.names)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def prepare(self, *names: str) -> None:
        """List the tools of servers: a first start may take longer than a listing waits."""
        done = onetool("servers", "test", *names, env=self.home.env, cwd=self.home.cwd)
        assert done.returncode == 0, done.stdout + done.stderr

    def serve(self, name: str = "a", **env: str) -> RestProcess:
        """Return the process `onetool serve` of this name. All of them use the same directories."""
        if name not in self._processes:
            process = RestProcess(self.home.root, settings=self.settings, probes=False, **self.env | env)
            self._processes[name] = self._stack.enter_context(process)
        return self._processes[name]

    def serve_hosted(self) -> RestProcess:
        """Return a hosted server with the same servers. All of them use HTTP, with the same logs."""
        if self._hosted is None:
            assert self._open_hosted
            servers = {
                name: server if "url" in server else self._server(f"{name}_http", self.log(name))
                for name, server in self._config["servers"].items()
            }
            self._hosted = self._open_hosted(yaml.safe_dump(self._config | {"servers": servers}))
        return self._hosted

    def stop(self, name: str) -> None:
        """Stop the process of this name, if it runs; `serve` starts another one, for new clients."""
        process = self._processes.pop(name, None)
        if process is not None:
            process.stop()
        self._clients = {key: client for key, client in self._clients.items() if key[3] != name}

    def open(
        self, version: str, transport: str, capabilities: Message, serve: str = "a", token: str = TOKEN
    ) -> AskingClient:
        """Open a client that is closed with the world."""
        return self._stack.enter_context(
            AskingClient(self._transport(version, transport, serve, token), version, capabilities)
        )

    def client(
        self, version: str, transport: str, capabilities: Message, serve: str = "a", token: str = TOKEN
    ) -> AskingClient:
        """Return a client without recorded questions, opened once for the same arguments.

        Modern clients over stdio share one process: they declare what they can answer with each call.
        """
        declared = {} if version == MODERN else capabilities
        key = (version, transport, json.dumps(declared), serve, token)
        if key not in self._clients:
            self._clients[key] = self.open(version, transport, capabilities, serve, token)
        client = self._clients[key].answers()
        client.capabilities = capabilities
        return client

    def log(self, server: str) -> Path:
        """Return the file in which a server records its calls."""
        return self.root / f"{server}.log"

    def count(self, server: str, tool: str, id: str, event: str = "run") -> int:
        """Return how often a server recorded an event of a call."""
        return count_events(self.log(server), tool, id, event)

    def runs(self, id: str) -> list[str]:
        """Return the tools of all servers that ran with the id of a call."""
        events = [(name, event) for name in self.names for event in read_log(self.log(name))]
        return [
            f"{name}.{event['tool']}"
            for name, event in events
            if (event["event"], event["id"]) == ("run", id)
        ]

    def change_definition(self, server: str, tool: str, **fields: Any) -> None:
        """Change the definition of a tool, and let OneTool list the tools of the server again."""
        log = self.log(server)
        log.with_name(f"{log.name}.tools").write_text(json.dumps({tool: fields}))
        self.prepare(server)

    def _server(self, name: str, log: Path | None = None) -> dict[str, Any]:
        arguments = ["-I", *COMMANDS[name.partition("_")[0]], str(log or self.log(name))]
        if not name.endswith("_http"):
            command = {"command": sys.executable, "args": arguments, "sandbox": False}
            return command | {"trust_annotations": True}
        url = self.start_server([*arguments, "--http", "0"])
        return {"url": url, "trust_annotations": True}

    def start_server(self, arguments: Sequence[str]) -> str:
        """Start a server that prints its URL, and stop it with the world."""
        process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
        self._stack.callback(process.communicate)
        self._stack.callback(process.kill)
        assert process.stdout
        return process.stdout.readline().strip()

    def _transport(
        self, version: str, transport: str, serve: str, token: str
    ) -> StdioTransport | HttpTransport:
        if transport == "hosted":
            hosted = self.serve_hosted()
            return HttpTransport(f"{hosted.url}/mcp", version, hosted.token)
        if transport == "http":
            return HttpTransport(f"{self.serve(serve).url}/mcp", version, token)
        command = ["onetool", "mcp"]
        return StdioTransport(command, self.root / "stderr", self.home.env | self.env, self.home.cwd)
