"""Every outside thing that the core needs, as a Protocol."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.bundle import Bundle, Filter, Listed, Pair, ToolVersion
from onetool.domain.chat import Message, Offer, Reply
from onetool.domain.manifest import HeldBack, Manifest, ServerState
from onetool.domain.paging import Page
from onetool.domain.sandbox import Outcome, SandboxJob
from onetool.domain.stored import Stored
from onetool.domain.tool import Tool
from onetool.domain.transcript import Head, Record
from onetool.domain.usage import CallEvent, Counter, Event, Tally


class ToolSource(Protocol):
    """Somewhere that tools come from. It is asked for a tool by name, never for everything."""

    @property
    def name(self) -> str:
        """How logs and health call this source."""
        ...

    def generation(self) -> Hashable:
        """A value that moves when the tools may have changed; cheap enough to ask before every call."""
        ...

    async def refresh(self) -> None:
        """Read again what `generation` said has moved; calls in flight keep the tools they have."""
        ...

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of this name, in this version or the active one; None where there is none."""
        ...

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return up to `limit` tools from an opaque cursor on, in an order that stays."""
        ...

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        ...

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        ...

    async def count(self) -> int:
        """Return how many tools there are."""
        ...


class ServerSource(ToolSource, Protocol):
    """Another MCP server whose tools are offered here as a pack of its name."""

    is_remote: bool
    """True: asking may mean waiting for it to start."""

    @property
    def state(self) -> ServerState:
        """How far it is: configured, known from a listing, started, or failed."""
        ...

    @property
    def reason(self) -> str:
        """Why it has failed; nothing where it has not."""
        ...

    async def probe(self, patience: float | None = None) -> bool:
        """Connect if need be; return whether the server answers, within these seconds or a few."""
        ...

    async def held_back(self) -> Sequence[HeldBack]:
        """Return the tools that wait for approval."""
        ...

    async def approve(self, names: Collection[str] | None = None) -> None:
        """Let tools be used as they are listed now: those that the server calls so, or all.

        Raises ValueError for a tool that is not listed.
        """
        ...

    async def login(self, show: Callable[[str], None], open_browser: Callable[[str], bool]) -> None:
        """Let the user log in with a browser; what that brings is kept for later.

        Raises LoginFailed.
        """
        ...


class BundleStore(Protocol):
    """Keeps bundles and versions of tools. Called on a thread: it may block.

    A function that is given to a method decides on what it is shown, and nobody else changes that meanwhile;
    what it raises is raised. On return everything is durable. Nothing here returns all there is.
    """

    @property
    def problems(self) -> Sequence[str]:
        """What was found damaged and set aside."""
        ...

    def generation(self) -> Hashable:
        """A value that moves with every change; cheap enough to ask before every call."""
        ...

    def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle by what the function makes of it."""
        ...

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, a deleted one too."""
        ...

    def bundles(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return bundles from an opaque cursor on."""
        ...

    def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> Listed:
        """Keep a new version, if the check of its bundle lets it pass.

        Raises Taken when its slug and version are there already: the store's promise, over all processes.
        """
        ...

    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Keep a bundle with all its tools, or nothing.

        Raises Taken when the bundle is there and not deleted, or when a tool's id or pair is another's.
        """
        ...

    def change_tool(
        self, pair: Pair, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> Listed:
        """Replace a version by what the function makes of it."""
        ...

    def delete_tool(self, pair: Pair) -> bool:
        """Remove a version for good; return whether it was there."""
        ...

    def tool(self, pair: Pair) -> Listed | None:
        """Return a version, also from a bundle that is deleted."""
        ...

    def find(self, name: str) -> Sequence[Listed]:
        """Return all versions of the tool that code calls by this name, the newest first."""
        ...

    def tools(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Listed]:
        """Return versions from an opaque cursor on."""
        ...

    def packs(self) -> Sequence[str]:
        """Return the names by which code calls the bundles that hold a tool."""
        ...

    def pack(self, name: str) -> Sequence[Listed]:
        """Return the active versions of one bundle, by the name that code calls it."""
        ...

    def matching(self, query: str, wanted: Filter, limit: int) -> Sequence[Listed]:
        """Return versions that may be meant, in no order: whoever asks ranks them.

        Up to `limit` that begin so, as many that have the words, as many that look like it.
        """
        ...

    def count(self) -> int:
        """Return how many versions there are."""
        ...

    def reap(self, before: str) -> Sequence[str]:
        """Remove bundles that were deleted before this moment and hold no tool; return their ids."""
        ...


class RateLimiter(Protocol):
    """Counts calls against a rate. Called on the event loop: it must not block."""

    def take(self, key: str, per_minute: int) -> float:
        """Take one call if the rate has room; return 0, or the seconds until it has."""
        ...


class SwitchStore(Protocol):
    """Remembers what was switched off, or on again, of things that are not stored here. It may block."""

    def generation(self) -> Hashable:
        """A value that moves with every change; cheap enough to ask before every call."""
        ...

    def read(self) -> Mapping[str, bool]:
        """Return every switch that was ever touched, by the id of what it switches."""
        ...

    def set(self, id: str, is_enabled: bool) -> None:
        """Set a switch; on return it is durable."""
        ...


class ManifestStore(Protocol):
    """Remembers what servers have listed. Called on a thread: it may block."""

    def generation(self, server: str) -> Hashable:
        """A value that moves with every change; cheap enough to ask before every call."""
        ...

    def read(self, server: str) -> Manifest | None:
        """Return what is known of a server."""
        ...

    def change(self, server: str, change: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Replace what is known by what the function makes of it; on return it is durable."""
        ...


class TokenStore(Protocol):
    """Keeps what logging in to servers has brought, a JSON text each. Called on a thread: it may block."""

    def read(self, server: str) -> str | None:
        """Return what is kept of a server."""
        ...

    def change(self, server: str, change: Callable[[str | None], str | None]) -> str | None:
        """Replace what is kept by what the function makes of it, None for nothing; on return it is durable.

        Nobody else changes it meanwhile, in whichever process: the function may ask a server.
        Raises TimeoutError when somebody else takes too long.
        """
        ...


class UsageStore(Protocol):
    """Remembers finished calls. Called on a thread: it may block."""

    def add(self, events: Sequence[Event]) -> None:
        """Keep these events; on return they are durable."""
        ...

    def tally(self, since: float | None) -> Tally:
        """Add up all events from this moment on, or all."""
        ...


class CounterStore(Protocol):
    """Counts the calls of each tool, for good. Called on a thread: it may block."""

    def add(self, events: Sequence[CallEvent]) -> None:
        """Count these calls; on return they are durable."""
        ...

    def find(self, tool_ids: Collection[str]) -> Mapping[str, Counter]:
        """Return the counters of those tools that were ever called."""
        ...


class Sandbox(Protocol):
    """Runs code that a model wrote, where it can do nothing but call tools."""

    async def run(self, job: SandboxJob) -> Outcome:
        """Run the code to its end; cancelling the wait ends it at once."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


class Nearest(Protocol):
    """Texts that were learnt, ready to be asked. Called on a thread: it may take milliseconds."""

    def __call__(self, query: str, limit: int) -> Sequence[tuple[int, float]]:
        """Return the places of the texts that are nearest in meaning, the nearest first, up to 1.0 each."""
        ...


class Meanings(Protocol):
    """Compares texts by what they mean. Called on a thread: it may block."""

    def learn(self, texts: Sequence[str]) -> Nearest:
        """Get to know these texts: seconds for new ones, hardly anything for those it has seen before.

        Raises ImportError when software is missing, FileNotFoundError when the model is; they say what helps.
        """
        ...


class ResultStore(Protocol):
    """Keeps large outputs for a while. Called on a thread: it may block."""

    def put(self, text: str, tool: str) -> Stored:
        """Keep a text; on return it is durable."""
        ...

    def find(self, handle: str) -> Stored | None:
        """Return what is known of a handle, also after its text has expired; None if it never was."""
        ...

    def text(self, handle: str) -> str | None:
        """Return the text, or None when it has expired or never was."""
        ...


class SessionStore(Protocol):
    """Keeps conversations, each as a list of records that only grows. Called on a thread: it may block."""

    def append(self, session: str, records: Sequence[Record]) -> None:
        """Add records to a session, which begins with its first; on return they are durable."""
        ...

    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session; none where there is none of this name."""
        ...

    def page(self, cursor: str | None, limit: int) -> Page[Head]:
        """Return sessions from an opaque cursor on, the one that was last added to first."""
        ...

    def delete(self, session: str) -> bool:
        """Remove a session for good; return whether it was there."""
        ...

    def reap(self, before: float) -> int:
        """Remove sessions that nothing was added to since this moment; return how many."""
        ...


class ChatModels(Protocol):
    """The chat models that the operator may use."""

    def names(self) -> Sequence[str]:
        """Return what they are called, the one that is used by default first."""
        ...

    def open(self, name: str | None = None, model: str | None = None) -> "ChatModel":
        """Return one by its provider's name, or the default one; close it after use.

        Raises SettingsError where there is none of this name, or what it needs is missing.
        """
        ...


class ChatModel(Protocol):
    """A language model that holds a conversation and asks for tools."""

    @property
    def name(self) -> str:
        """How the operator calls it: the provider's name in the settings."""
        ...

    @property
    def model(self) -> str:
        """Which model answers."""
        ...

    async def reply(
        self,
        messages: Sequence[Message],
        offers: Sequence[Offer],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> Reply:
        """Return the model's next turn; pieces of its text go to `on_text` as they come.

        Tools are named as in the catalog, in offers, messages and reply alike; a name that the model made up
        comes back as it stands. The deadline is on the monotonic clock, in seconds. What failed in passing
        before the model said anything was tried once more already.

        Raises ChatFailed, and SettingsError where the operator must act before any reply can come.
        """
        ...

    async def aclose(self) -> None:
        """Close its connections; call it in the loop that used them."""
        ...
