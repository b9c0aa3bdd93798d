"""Resources and prompts of MCP servers that the caller may read."""

from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.servers.catalog_item import CatalogItem
from onetool.domain.servers.server_item import ItemKind
from onetool.runtime.active_call import current_call

from .calls import wait_for


def list_contents(kind: ItemKind, server: str | None = None) -> Sequence[CatalogItem]:
    """Return the resources, templates or prompts of all servers, or of one."""
    active = current_call()
    items = active.runtime.state.contents.items(kind, active.invocation.caller, server)
    return wait_for(active, items, "list_contents()")


def read_resource(uri: str) -> Any:
    """Return the content of a resource.

    Raises:
        ExecutionError: It does not exist, is quarantined, or its server is unavailable.
    """
    active = current_call()
    invocation = active.invocation
    read = active.runtime.state.contents.read(uri, invocation.caller, invocation.deadline)
    return wait_for(active, read, "read_resource()")


def get_prompt(name: str, args: Mapping[str, str]) -> Any:
    """Return the messages of a prompt.

    Raises:
        ExecutionError: It does not exist, is quarantined, or its server is unavailable.
    """
    active = current_call()
    invocation = active.invocation
    prompt = active.runtime.state.contents.prompt(name, args, invocation.caller, invocation.deadline)
    return wait_for(active, prompt, "get_prompt()")
