"""What invoking an HTTP tool over REST costs, beside the upstream itself and a bare forwarder."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx2

BUNDLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
TOKEN = "token-of-the-benchmark"
SECONDS = 3.0
ROUNDS = 3
CORE = """
import json, os, sys
import uvicorn
{more}
async def app(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    {answer}
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({{"type": "http.response.start", "status": 200, "headers": head}})
    await send({{"type": "http.response.body", "body": content}})
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", lifespan="off")
"""
UPSTREAM = CORE.format(more="", answer='content = b\'{"city":"Oslo","rain":[1,2,3]}\'')
FORWARDER = CORE.format(
    more=(
        "import httpx2, jsonschema_rs, orjson\n"
        "schema = {'type': 'object', 'properties': {'city': {'type': 'string'}}}\n"
        "valid = jsonschema_rs.validator_for(schema)\n"
        "client = httpx2.AsyncClient(trust_env=False)\n"
    ),
    answer=(
        "args = orjson.loads(body)['args']\n"
        "    valid.validate(args)\n"
        "    answer = await client.get(f'http://127.0.0.1:{sys.argv[2]}/rain/{args[\"city\"]}')\n"
        "    content = orjson.dumps({'ok': True, 'value': orjson.loads(answer.content)})"
    ),
)


class Target(NamedTuple):
    """A server to be asked, and the very bytes of the request."""

    name: str
    port: int
    process: "subprocess.Popen[bytes]"
    request: bytes


class Load(NamedTuple):
    """What a server did: calls a second, its own CPU a call in milliseconds."""

    rate: float
    cpu_ms: float


def measure() -> None:
    """Print the table: each target in turn, several times, the best of each."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        targets = _start(stack, Path(folder))
        titles = f"{'in flight':>9} {'calls/s':>9} {'CPU/call':>10} {'of the bare one':>16}"
        print(f"\n{'HTTP tool over REST':<34} {titles}")
        for flight in (1, 32):
            best = _best(targets, flight)
            bare = best["bare ASGI forwarder"]
            for name, load in best.items():
                ratio = f"{load.rate / bare.rate:.2f}x"
                print(f"{name:<34} {flight:>9} {load.rate:>9,.0f} {load.cpu_ms:>7.2f} ms {ratio:>16}")


def _best(targets: list[Target], flight: int) -> dict[str, Load]:
    rounds = [[asyncio.run(_load(target, flight)) for target in targets] for _ in range(ROUNDS)]
    return {
        target.name: max((one[index] for one in rounds), key=lambda load: load.rate)
        for index, target in enumerate(targets)
    }


def _start(stack: ExitStack, folder: Path) -> list[Target]:
    up, bare, ours = (_free_port() for _ in range(3))
    upstream = stack.enter_context(_running([sys.executable, "-c", UPSTREAM, str(up)], up))
    forwarder = stack.enter_context(_running([sys.executable, "-c", FORWARDER, str(bare), str(up)], bare))
    env = {f"ONETOOL_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "STATE")}
    (folder / "CONFIG").mkdir()
    (folder / "CONFIG" / "onetool.yaml").write_text('allowedHosts: ["127.0.0.1"]\n')
    command = [sys.executable, "-m", "onetool", "serve", "--port", str(ours)]
    server = stack.enter_context(_running(command, ours, {**env, "ONETOOL_TOKEN": TOKEN}))
    path = _store_tool(ours, up)
    body = b'{"args":{"city":"Oslo"}}'
    return [
        Target("upstream directly", up, upstream, _request("GET", "/rain/Oslo", b"")),
        Target("bare ASGI forwarder", bare, forwarder, _request("POST", "/", body)),
        Target("onetool serve, invoke", ours, server, _request("POST", path, body)),
    ]


def _store_tool(port: int, upstream: int) -> str:
    base = f"http://127.0.0.1:{port}/tools/bundles/{BUNDLE}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    request = {"urlTemplate": f"http://127.0.0.1:{upstream}/rain/${{city}}"}
    tool = {"type": "http", "argSchema": schema, "httpImpl": {"request": request}}
    path = f"/tools/bundles/{BUNDLE}/tools/rain/version/v1"
    with httpx2.Client(headers=headers, trust_env=False) as client:
        client.put(base, json={"slug": "weather"}).raise_for_status()
        client.put(f"http://127.0.0.1:{port}{path}", json=tool).raise_for_status()
    return f"{path}/invoke"


async def _load(target: Target, flight: int) -> Load:
    """Ask for some seconds, with so many requests in flight."""
    end, cpu = time.monotonic() + SECONDS, _cpu_seconds(target.process.pid)
    begun = time.monotonic()
    counts = await asyncio.gather(*(_ask(target, end) for _ in range(flight)))
    took = time.monotonic() - begun
    return Load(sum(counts) / took, (_cpu_seconds(target.process.pid) - cpu) * 1000 / sum(counts))


async def _ask(target: Target, end: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    count = 0
    while time.monotonic() < end:
        writer.write(target.request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{target.name} answered {head[:100]!r}")
        await _read_body(reader, head.lower())
        count += 1
    writer.close()
    return count


async def _read_body(reader: asyncio.StreamReader, head: bytes) -> None:
    if b"content-length: " in head:
        await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        return
    while (size := int(await reader.readline(), 16)) > 0:
        await reader.readexactly(size + 2)
    await reader.readline()


def _request(method: str, path: str, body: bytes) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def _running(
    command: list[str], port: int, env: dict[str, str] | None = None
) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(command, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield process
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 0.1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing listens on {port}")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    measure()
