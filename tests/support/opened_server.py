"""An MCP server as a source of its own, without a runtime."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers import McpServerSource
from onetool.storage.memory.manifests import MemoryManifests
from onetool.threads import Threads


@asynccontextmanager
async def opened_server(
    settings: ServerSettings, home: Path, *, name: str = "s", secrets: Secrets | None = None, **options: Any
) -> AsyncIterator[McpServerSource]:
    """Yield a source that waits for its server at a listing, and close it at the end."""
    options = {"manifest": MemoryManifests(), "threads": Threads(), "is_patient": True} | options
    server = McpServerSource(name, settings, secrets or Secrets(), home=home, **options)
    try:
        yield server
    finally:
        await server.close()
