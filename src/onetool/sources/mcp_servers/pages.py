"""Listings of a server, read from all pages within limits."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from onetool.domain.errors import ExecutionError
from onetool.domain.servers.manifest import MAX_TOOLS
from onetool.domain.servers.pinned_list import MAX_ITEMS
from onetool.domain.servers.server_item import KEYS, ItemKind

from .errors import RequestNotSent, ServerUnavailable
from .paged_listing import Listing, read_listing
from .request_options import RequestOptions

if TYPE_CHECKING:
    from .session import ServerSession

LIST_TIMEOUT_S, ITEMS_TIMEOUT_S = 10.0, 5.0


class ItemList(NamedTuple):
    """How the items of one kind are listed."""

    capability: str
    """What servers with such items declare."""
    method: str
    field: str
    """The field of the result."""


LISTS: Mapping[ItemKind, ItemList] = {
    "resource": ItemList("resources", "resources/list", "resources"),
    "template": ItemList("resources", "resources/templates/list", "resourceTemplates"),
    "prompt": ItemList("prompts", "prompts/list", "prompts"),
}


async def read_tools(session: "ServerSession", timeout_s: float = LIST_TIMEOUT_S) -> Listing:
    """Return the tools of a server, up to the limits.

    Raises:
        ServerUnavailable: The list does not arrive in time, or is invalid.
    """
    deadline = time.monotonic() + timeout_s
    return await read_listing(lambda cursor: session.list_page(cursor, deadline), "tools", MAX_TOOLS)


async def read_items(session: "ServerSession", kind: ItemKind, timeout_s: float = ITEMS_TIMEOUT_S) -> Listing:
    """Return the valid resources, templates or prompts of a server, up to the limits.

    Raises:
        ServerUnavailable: The list does not arrive in time, or is invalid.
    """
    _, method, field = LISTS[kind]
    deadline = time.monotonic() + timeout_s

    async def read_page(cursor: str | None) -> dict[str, Any]:
        try:
            params = {"cursor": cursor} if cursor else None
            page = await session.request(method, params, RequestOptions(deadline))
        except (ExecutionError, RequestNotSent) as error:
            raise ServerUnavailable(f"cannot list its {field}: {error}".removesuffix(".")) from error
        if not isinstance(items := page.get(field), list):
            raise ServerUnavailable(f"its list of {field} is invalid")
        return {**page, field: [item for item in items if _is_valid(kind, item)]}

    return await read_listing(read_page, field, MAX_ITEMS[kind])


def _is_valid(kind: ItemKind, item: Any) -> bool:
    return (
        isinstance(item, dict) and isinstance(item.get(KEYS[kind]), str) and isinstance(item.get("name"), str)
    )
