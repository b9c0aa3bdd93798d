"""Other gateways, each installed from PyPI into an environment of its own, and loaded like ours."""

import asyncio
import json
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from benchmarks.load import Driver
from benchmarks.options import Options
from benchmarks.processes import BARE, free_port, running
from benchmarks.wire import http_driver, http_request

FASTMCP, CONTEXTFORGE = "fastmcp", "mcp-contextforge-gateway"
USED: list[str] = []
"""Names and versions of what was measured."""


async def fastmcp_proxy(options: Options, command: list[str]) -> list[str]:
    """The command of a FastMCP proxy before this server."""
    python = await _installed(options.cache, FASTMCP)
    return [str(python), str(BARE / "fastmcp_proxy.py"), *command]


@asynccontextmanager
async def contextforge(options: Options, folder: Path, upstream: int) -> AsyncIterator[Driver]:
    """A ContextForge that has the same REST tool, called over JSON-RPC."""
    python = await _installed(options.cache, CONTEXTFORGE)
    port, place = free_port(), folder / "contextforge"
    place.mkdir()
    command = [str(python.with_name("mcpgateway")), "--host", "127.0.0.1", "--port", str(port)]
    env = {**os.environ, **_settings(place)}
    async with running(command, env, port, quiet=True) as process:
        token = await _said(str(python), "-m", "mcpgateway.utils.create_jwt_token", *_claims(env), env=env)
        name = await _register(port, upstream, token)
        params = {"name": name, "arguments": {"city": "Oslo"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        yield http_driver(
            port, http_request("POST", "/rpc", body, token), b"rain", process.pid, options.seconds
        )


def _settings(place: Path) -> dict[str, str]:
    """As it comes, but for what keeps it from calling this machine and from limiting how often."""
    return {
        "DATABASE_URL": f"sqlite:///{place}/mcp.db",
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
        answer = await client.post(f"http://127.0.0.1:{port}/tools", json={"tool": tool})
        if answer.is_error:
            raise SystemExit(f"ContextForge refused the tool: {answer.text[:500]}")
        return str(answer.json()["name"])


async def _installed(cache: Path, package: str) -> Path:
    """The Python of an environment that has this package; made when it is not there."""
    place = cache / package
    python = place / "bin" / "python"
    if not python.exists():
        print(f"installing {package} ...", file=sys.stderr, flush=True)
        uv = shutil.which("uv")
        if uv is None:
            raise SystemExit("--peers needs uv: https://docs.astral.sh/uv/")
        await _said(uv, "venv", "--quiet", "--python", sys.executable, str(place))
        await _said(uv, "pip", "install", "--quiet", "--python", str(python), package)
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    found = f"{package} {await _said(str(python), '-c', code)}"
    if found not in USED:
        USED.append(found)
    return python


async def _said(*command: str, env: dict[str, str] | None = None) -> str:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=pipe, stderr=pipe)
    said, errors = await process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{Path(command[0]).name} failed: {errors.decode()[-1000:]}")
    return said.decode().strip().splitlines()[-1] if said.strip() else ""
