"""Other gateways, each installed from PyPI into its own environment and measured like OneTool."""

import json
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2

from benchmarks.load import Driver
from benchmarks.options import Options
from benchmarks.processes import BARE, free_port, output_of, running
from benchmarks.wire import http_driver, http_request

FASTMCP, CONTEXTFORGE = "fastmcp", "mcp-contextforge-gateway"
USED: list[str] = []
"""Names and versions of the measured packages."""


async def fastmcp_proxy(options: Options, command: list[str]) -> list[str]:
    """Return the command of a FastMCP proxy for a server."""
    python = await _install(options.cache, FASTMCP)
    return [str(python), str(BARE / "fastmcp_proxy.py"), *command]


@asynccontextmanager
async def contextforge(
    options: Options, directory: Path, upstream: int, count: int = 1, **settings: str
) -> AsyncIterator[Driver]:
    """Run processes of ContextForge with the same REST tool, called over JSON-RPC.

    settings: where they keep their data, in place of a file and the memory of one process.
    """
    python = await _install(options.cache, f"{CONTEXTFORGE}[postgres,redis]")
    data = directory / "contextforge"
    data.mkdir(exist_ok=True)
    env = {**os.environ, **_settings(data), **settings}
    servers = dict[int, int]()
    async with AsyncExitStack() as stack:
        for _ in range(count):
            port = free_port()
            command = [str(python.with_name("mcpgateway")), "--host", "127.0.0.1", "--port", str(port)]
            process = await stack.enter_async_context(running(command, env, port, quiet=True))
            servers[port] = process.pid
        token = await output_of([str(python), "-m", "mcpgateway.utils.create_jwt_token", *_claims(env)], env)
        name = await _register(port, upstream, token)
        params = {"name": name, "arguments": {"city": "Oslo"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        yield http_driver(servers, http_request("POST", "/rpc", body, token), b"rain", options.seconds)


def _settings(data: Path) -> dict[str, str]:
    """Return default settings, but allow loopback addresses and disable rate limits."""
    return {
        "DATABASE_URL": f"sqlite:///{data}/mcp.db",
        "JWT_SECRET_KEY": secrets.token_urlsafe(48),
        "AUTH_ENCRYPTION_SECRET": secrets.token_urlsafe(48),
        "PLATFORM_ADMIN_EMAIL": "admin@example.com",
        "PLATFORM_ADMIN_PASSWORD": secrets.token_urlsafe(24),
        "BASIC_AUTH_PASSWORD": secrets.token_urlsafe(24),
        "SSRF_ALLOW_LOCALHOST": "true",
        "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
        "RATE_LIMITING_ENABLED": "false",
        "TOOL_RATE_LIMIT": "1000000",
        "CACHE_TYPE": "memory",
        "LOG_LEVEL": "ERROR",
    }


def _claims(env: dict[str, str]) -> list[str]:
    admin, secret = env["PLATFORM_ADMIN_EMAIL"], env["JWT_SECRET_KEY"]
    return ["--username", admin, "--exp", "600", "--secret", secret, "--admin"]


async def _register(port: int, upstream: int, token: str) -> str:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {
        "name": "rain",
        "url": f"http://127.0.0.1:{upstream}/rain/Oslo",
        "integration_type": "REST",
        "request_type": "GET",
        "input_schema": schema,
    }
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as client:
        response = await client.post(f"http://127.0.0.1:{port}/tools", json={"tool": tool})
        if response.is_error:
            raise SystemExit(f"ContextForge rejected the tool: {response.text[:500]}")
        return str(response.json()["name"])


async def _install(cache: Path, package: str) -> Path:
    """Return the Python of an environment with this package; create the environment if necessary."""
    name = package.partition("[")[0]
    environment = cache / name
    python = environment / "bin" / "python"
    if not python.exists():
        print(f"installing {package} ...", file=sys.stderr, flush=True)
        uv = shutil.which("uv")
        if uv is None:
            raise SystemExit("--peers requires uv: https://docs.astral.sh/uv/")
        await output_of([uv, "venv", "--quiet", "--python", sys.executable, str(environment)])
        await output_of([uv, "pip", "install", "--quiet", "--python", str(python), package])
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    installed = f"{name} {await output_of([str(python), '-c', code])}"
    if installed not in USED:
        USED.append(installed)
    return python
