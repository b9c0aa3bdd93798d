"""Resources, templates and prompts of one MCP server."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from onetool.domain.calls.caller import Caller
from onetool.domain.content.content import Content
from onetool.domain.content.parts import InvalidContent, text_of
from onetool.domain.content.resources import (
    PromptContent,
    ResourceContent,
    parse_prompt,
    parse_resource,
    with_findings,
)
from onetool.domain.errors import ContentNotFound, ExecutionError, Reason, RequestRefused
from onetool.domain.servers.manifest import refuse_prompt_text
from onetool.domain.servers.prompt_texts import text_pin
from onetool.domain.servers.server_item import ItemKind, ListedItem
from onetool.domain.servers.uris import namespaced_content
from onetool.domain.text.suggestions import did_you_mean

from .calls import ServerCalls
from .listing import ServerListing
from .manifest_cache import ManifestCache
from .request_options import RequestOptions
from .subscriptions import ServerSubscriptions

COMPLETION_TIMEOUT_S = 5.0
NO_COMPLETION: Mapping[str, Any] = {"completion": {"values": []}}
NOT_FOUND_CODES = (-32002, -32602)
"""Codes for an unknown resource, of earlier and of later versions of the protocol."""
SUSPICIOUS = "it contains instructions for the model"
C = TypeVar("C", bound=Content)


class ServerContents:
    """A ContentSource: requests take the session of the tools, and nothing quarantined is returned."""

    def __init__(
        self,
        server: str,
        manifests: ManifestCache,
        listing: ServerListing,
        calls: ServerCalls,
        find: Callable[[str], list[str]],
        *,
        is_personal: bool = False,
    ) -> None:
        """find: returns the signs of prompt injection in a text.

        is_personal: whether members may get texts with logins of their own, which are not shown to others.
        """
        self._is_personal = is_personal
        self._server, self._manifests, self._listing = server, manifests, listing
        self._calls, self._find = calls, find
        self.subscriptions = ServerSubscriptions(calls)

    async def declared(self) -> Mapping[str, Any]:
        """Return the capabilities that the server declared."""
        await self._listing.ensure_listed()
        manifest = self._manifests.manifest
        return manifest.capabilities if manifest else {}

    async def items(self, kind: ItemKind, *, start: bool = True) -> Sequence[ListedItem]:
        """Return what the server lists of one kind. A running server is asked for its resources again."""
        if start:
            await self._listing.ensure_items_listed(kind)
        else:
            await self._manifests.ensure_fresh()
        return list(self._manifests.tools.items.get(kind, {}).values())

    async def read(self, uri: str, caller: Caller, deadline: float) -> ResourceContent:
        """Read a resource. Signs of prompt injection in its text are added: the text itself is data."""
        await self._listing.ensure_listed()
        self._check("resource", uri)
        try:
            result = await self._calls.request("resources/read", {"uri": uri}, deadline, caller)
        except RequestRefused as error:
            if error.rpc_code in NOT_FOUND_CODES:
                raise ContentNotFound(f"Server {self._server!r}: {error}") from error
            raise
        content = self._parse(parse_resource, result)
        if findings := await self._scan(content):
            content = with_findings(content, findings)
        return namespaced_content(content, self._server)

    async def prompt(
        self, name: str, args: Mapping[str, str], caller: Caller, deadline: float
    ) -> PromptContent:
        """Return the messages of a prompt. A text with signs of prompt injection needs an approval."""
        await self._listing.ensure_items_listed("prompt")
        listed = self._manifests.tools.items.get("prompt", {})
        if name not in listed:
            suggestion = did_you_mean(name, list(listed))
            raise ContentNotFound(f"Server {self._server!r} has no prompt {name!r}.{suggestion}")
        self._check("prompt", name)
        params = {"name": name, "arguments": dict(args)}
        result = await self._calls.request("prompts/get", params, deadline, caller)
        content = self._parse(parse_prompt, result)
        if findings := await self._scan(content):
            await self._check_text(name, _text(content), findings)
        return namespaced_content(content, self._server)

    async def pass_on(self, method: str, params: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """Send any request to the server and return its result as received."""
        return await self._calls.request(method, params, deadline)

    async def complete(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of `completion/complete`; no values if there is no response in time."""
        deadline = time.monotonic() + COMPLETION_TIMEOUT_S
        try:
            return await self._calls.request("completion/complete", params, deadline)
        except ExecutionError:
            return NO_COMPLETION

    async def subscribe(self, uri: str, listener: Callable[[str], None]) -> None:
        """Report updates of a resource to a listener, with its namespaced URI."""
        await self._listing.ensure_listed()
        self._check("resource", uri)
        await self.subscriptions.add(uri, listener)

    async def unsubscribe(self, uri: str, listener: Callable[[str], None]) -> None:
        """Stop to report updates of a resource to a listener."""
        await self.subscriptions.remove(uri, listener)

    async def set_log_level(self, level: str) -> None:
        """Tell a running server what to log."""
        deadline = time.monotonic() + COMPLETION_TIMEOUT_S
        await self._calls.use_open(
            lambda session: session.request("logging/setLevel", {"level": level}, RequestOptions(deadline))
        )

    def _check(self, kind: ItemKind, key: str) -> None:
        listed = self._manifests.tools.items.get(kind, {}).get(key)
        if listed is not None and listed.reason:
            name = f"{kind.capitalize()} {key!r} of server {self._server!r}"
            raise ExecutionError(Reason.UPSTREAM, f"{name} is quarantined: {listed.reason}")

    async def _check_text(self, prompt: str, text: str, findings: list[str]) -> None:
        manifest = self._manifests.manifest
        if manifest is not None and text_pin(text) in manifest.prompt_texts.approved:
            return
        if self._is_personal:
            message = f"The text of prompt {prompt!r} of server {self._server!r} is refused: {SUSPICIOUS}"
            raise ExecutionError(Reason.UPSTREAM, f"{message}: {'; '.join(findings)}")
        reason = f"{SUSPICIOUS}: {'; '.join(findings)}: onetool servers approve {self._server}"
        await self._manifests.change(lambda before: refuse_prompt_text(before, prompt, text, reason))
        name = f"prompt {prompt!r} of server {self._server!r}"
        raise ExecutionError(Reason.UPSTREAM, f"The text of {name} is quarantined: {reason}")

    async def _scan(self, content: Content) -> list[str]:
        return await self._manifests.run_on_thread(self._find, _text(content))

    def _parse(self, parse: Callable[[Any], C], result: Any) -> C:
        try:
            return parse(result)
        except InvalidContent as error:
            message = f"Server {self._server!r} sent an invalid MCP response: {error}."
            raise ExecutionError(Reason.UPSTREAM, message) from None


def _text(content: Content) -> str:
    return "\n\n".join(text for part in content.parts if (text := text_of(part)) is not None)
