"""What MCP clients are told without having asked: changed lists, updated resources and log messages."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, get_args

import mcp_types as types
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from onetool.runtime.runtime import Runtime

from .list_snapshot import Snapshot

log = logging.getLogger(__name__)

INTERVAL_S = 0.5
"""Seconds between two looks at what clients see."""
MAX_SUBSCRIPTIONS = 1_000
"""Resources whose updates one client can observe."""
LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
DEFAULT_LEVEL = "info"
"""What clients of earlier protocol versions receive before they set a level."""
LISTINGS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
LEVEL, URI = "level", "uri."
"""Entries of a session, for the other processes that serve it."""
Context = ServerRequestContext[Any, Any]
Listener = Callable[[str], None]
LIST_CHANGED: dict[str, tuple[Any, Any]] = {
    "tools": (ToolsListChanged(), types.ToolListChangedNotification),
    "resources": (ResourcesListChanged(), types.ResourceListChangedNotification),
    "prompts": (PromptsListChanged(), types.PromptListChangedNotification),
}


@dataclass(eq=False)
class ConnectedClient:
    """A client of an earlier protocol version, which is told everything on its one connection."""

    context: Context
    """For what is done without a request of the client."""
    level: str = DEFAULT_LEVEL
    uris: dict[str, Listener] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def session(self) -> str | None:
        """The id of a session that other processes may serve as well."""
        return self.context.session._connection.session_id


class Notices:
    """Tells the clients of one MCP server of ours what has changed."""

    def __init__(self, runtime: Runtime, snapshot: Snapshot, subscribe: Any) -> None:
        """Create the notices. Nothing is sent yet.

        subscribe: an object with `subscribe` and `unsubscribe`, by the URIs that clients see, and
            `renew_subscriptions`.
        """
        self._runtime, self._snapshot, self._resources = runtime, snapshot, subscribe
        self._clients: dict[Connection, ConnectedClient] = {}
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._streams = 0
        self._observed: Counter[str] = Counter()
        """How many streams want updates of each resource."""
        self._known: dict[str, Hashable] | None = None
        """What clients saw at the last look; None while there are none."""
        self._lock = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[Any]] = set()

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Remember each client of an earlier version, and what a client has just listed."""
        result = await call_next(ctx)
        if ctx.method == "initialize":
            self._client(ctx)
        elif ctx.method in LISTINGS and self._known is not None:
            await self._compare()
        return result

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of changes, for as long as the client reads it."""
        uris = [str(uri) for uri in params.notifications.resource_subscriptions or ()]
        _check_number(len(uris))
        self._streams += 1
        self._observed.update(uris)
        try:
            for uri in uris:
                if self._observed[uri] == 1:  # the event reaches all streams that asked for it
                    with suppress(MCPError):  # a resource that does not exist is never updated
                        await self._resources.subscribe(uri, self._publish_updated, context)
            self._watch()
            return await self._listen(context, params)
        finally:
            self._streams -= 1
            self._observed.subtract(uris)
            for uri in uris:
                if not self._observed[uri]:
                    del self._observed[uri]
                    await self._resources.unsubscribe(uri, self._publish_updated)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell a client of an earlier version about updates of a resource."""
        client, uri = self._client(context), str(params.uri)
        async with client.lock:
            if uri not in client.uris:
                _check_number(len(client.uris) + 1)
                await self._observe(client, uri, context)
                await self._share(client, _uri_entry(uri), uri)
        return types.EmptyResult()

    async def _observe(self, client: ConnectedClient, uri: str, context: Context) -> None:
        def listener(updated: str) -> None:
            note = types.ResourceUpdatedNotificationParams(uri=updated)
            self._send(client, types.ResourceUpdatedNotification(params=note))

        await self._resources.subscribe(uri, listener, context)
        client.uris[uri] = listener

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Stop to tell a client about updates of a resource."""
        client, uri = self._client(context), str(params.uri)
        async with client.lock:
            await self._share(client, _uri_entry(uri), None)
            await self._unobserve(client, uri)
        return types.EmptyResult()

    async def _unobserve(self, client: ConnectedClient, uri: str) -> None:
        listener = client.uris.pop(uri, None)
        if listener is not None:
            await self._resources.unsubscribe(uri, listener)

    async def set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Set which log messages a client of an earlier version receives, and let servers send them."""
        client = self._client(context)
        await self._share(client, LEVEL, params.level)
        await self._set_level(client, params.level)
        return types.EmptyResult()

    async def _set_level(self, client: ConnectedClient, level: str) -> None:
        client.level = level
        lowest = min((client.level for client in self._clients.values()), key=LEVELS.index)
        await self._resources.set_log_level(lowest)

    async def _share(self, client: ConnectedClient, name: str, text: str | None) -> None:
        """Put an entry into the session of a client, or remove it, for the other processes that serve it."""
        if client.session is None:
            return
        store = self._runtime.client_sessions
        try:
            await (
                store.remove(client.session, name) if text is None else store.put(client.session, name, text)
            )
        except OSError as error:  # a full disk: it holds at this process
            log.warning("cannot store what an MCP client has set: %s", error)

    async def refresh(self, connection: Connection) -> Mapping[str, str]:
        """Apply what a client has set at other processes. Return the entries of its session."""
        client = self.connect(connection)
        entries = await self._runtime.client_sessions.read(client.session or "")
        level = entries.get(LEVEL, client.level)
        if level != client.level and level in LEVELS:
            client.level = level
            self._spawn(self._set_level(client, level))
        if client.uris.keys() != _uris(entries):
            self._spawn(self._follow_subscriptions(client))
        return entries

    async def _follow_subscriptions(self, client: ConnectedClient) -> None:
        """Observe the resources to which a client has subscribed at any process."""
        async with client.lock:
            uris = _uris(await self._runtime.client_sessions.read(client.session or ""))
            for uri in client.uris.keys() - uris:
                await self._unobserve(client, uri)
            for uri in uris - client.uris.keys():
                with suppress(MCPError):  # the process with the request has reported it
                    await self._observe(client, uri, client.context)

    def allows(self, context: Context, level: str) -> bool:
        """Whether a client wants log messages of a level for this request."""
        if level not in LEVELS:
            return False
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            wanted = (context.meta or {}).get(types.LOG_LEVEL_META_KEY)
        else:
            wanted = self._client(context).level
        return wanted in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted)

    def connect(self, connection: Connection) -> ConnectedClient:
        """Tell a client of an earlier version what changes, until its connection ends."""
        if connection not in self._clients:
            outbound: Any = connection.outbound
            context = Context(
                session=ServerSession(outbound, connection),
                lifespan_context=None,
                protocol_version=connection.protocol_version,
                method="",
            )
            client = self._clients[connection] = ConnectedClient(context)
            connection.exit_stack.push_async_callback(self._forget, connection, client)
        self._watch()
        return self._clients[connection]

    def _client(self, context: Context) -> ConnectedClient:
        return self.connect(context.session._connection)

    async def _forget(self, connection: Connection, client: ConnectedClient) -> None:
        self._clients.pop(connection, None)
        for uri, listener in client.uris.items():
            await self._resources.unsubscribe(uri, listener)

    def _publish_updated(self, uri: str) -> None:
        self._spawn(self._bus.publish(ResourceUpdated(uri=uri)))

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Compare what clients see, again and again while there are any."""
        while self._clients or self._streams:
            await self._compare()
            self._spawn(self._resources.renew_subscriptions())
            await asyncio.sleep(INTERVAL_S)
        self._known = None

    async def _compare(self) -> None:
        """Tell clients which lists have changed since the last look."""
        async with self._lock:
            try:
                await self._runtime.reload_if_changed()
                seen = await self._snapshot()
            except Exception:
                log.exception("cannot compare the lists of tools, resources and prompts")
                return
            known, self._known = self._known or seen, seen
        for name, (event, notification) in LIST_CHANGED.items():
            if seen.get(name) != known.get(name):
                await self._bus.publish(event)
                for client in list(self._clients.values()):
                    self._send(client, notification())

    def _send(self, client: ConnectedClient, notification: Any) -> None:
        self._spawn(client.context.session.send_notification(notification))

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._sending.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: "asyncio.Task[Any]") -> None:
        self._sending.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.debug("a notice was not sent: %s", error)


def _check_number(count: int) -> None:
    if count > MAX_SUBSCRIPTIONS:
        raise MCPError(types.INVALID_PARAMS, f"Too many subscriptions: at most {MAX_SUBSCRIPTIONS}.")


def _uris(entries: Mapping[str, str]) -> set[str]:
    return {text for name, text in entries.items() if name.startswith(URI)}


def _uri_entry(uri: str) -> str:
    return URI + sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()
