"""A small HTTP API on this machine, which the stored HTTP tools call."""

import contextlib
import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.agents.samples import PARCELS

PAGE_SIZE = 10
MAX_BODY_BYTES = 10_000
LISTED = ("id", "destination", "weight_grams")
HOST = "127.0.0.1"
NOTES = re.compile(r"/parcels/([^/]+)/notes")


def tool_definitions(port: int) -> list[dict[str, Any]]:
    """Return the HTTP tools of the API."""
    url = f"http://{HOST}:{port}/parcels"
    parcel_id = {"type": "string", "description": "Such as P-100."}
    page = {"type": "integer", "description": "Number of the page, from 1."}
    return [
        _tool("list-parcels", "List the parcels, ten per page. `next` is the next page, or null.",
              {"page": page}, {"urlTemplate": url, "query": {"page": "${page}"}}),
        _tool("get-parcel", "Return one parcel: status, destination and weight.",
              {"id": parcel_id}, {"urlTemplate": f"{url}/${{id}}"}),
        _tool("add-note", "Leave a note for the carrier of a parcel.",
              {"id": parcel_id, "text": {"type": "string"}},
              {"method": "POST", "urlTemplate": f"{url}/${{id}}/notes", "body": {"text": "${text}"}}),
    ]  # fmt: skip


def _tool(slug: str, description: str, properties: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "slug": slug,
        "description": description,
        "arg_schema": schema,
        "http_impl": {"request": request},
    }


class _Handler(BaseHTTPRequestHandler):
    notes: Path
    lock: Lock

    def log_message(self, *_: Any) -> None:
        """Write nothing."""

    def do_GET(self) -> None:
        """Return a page of parcels, or one parcel."""
        url = urlsplit(self.path)
        if url.path == "/parcels":
            page = parse_qs(url.query).get("page", ["1"])[0]
            self._send_page(int(page) if page.isdigit() else 1)
        else:
            self._send_parcel(url.path.removeprefix("/parcels/"))

    def do_POST(self) -> None:
        """Append a note to the file."""
        match, size = NOTES.fullmatch(self.path), int(self.headers.get("Content-Length", 0))
        if match is None or not _find(match[1]) or size > MAX_BODY_BYTES:
            self._send(404, {"error": "no such parcel"})
            return
        line = json.dumps({"parcel": match[1], "text": json.loads(self.rfile.read(size))["text"]})
        with self.lock, self.notes.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        self._send(200, {"stored": True})

    def _send_page(self, page: int) -> None:
        start = (page - 1) * PAGE_SIZE
        is_last = start + PAGE_SIZE >= len(PARCELS)
        shown = [{key: parcel[key] for key in LISTED} for parcel in PARCELS[start : start + PAGE_SIZE]]
        self._send(200, {"items": shown, "next": None if is_last else page + 1})

    def _send_parcel(self, parcel_id: str) -> None:
        found = _find(parcel_id)
        self._send(200 if found else 404, found or {"error": "no such parcel"})

    def _send(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _find(parcel_id: str) -> dict[str, Any] | None:
    return next((parcel for parcel in PARCELS if parcel["id"] == parcel_id), None)


@contextlib.contextmanager
def serve_parcels(notes: Path) -> Iterator[int]:
    """Serve the API on a free port of this machine. Notes are appended to a file."""
    handler = type("Handler", (_Handler,), {"notes": notes, "lock": Lock()})
    with ThreadingHTTPServer((HOST, 0), handler) as web:
        thread = Thread(target=web.serve_forever, daemon=True)
        thread.start()
        try:
            yield web.server_port
        finally:
            web.shutdown()
            thread.join()
