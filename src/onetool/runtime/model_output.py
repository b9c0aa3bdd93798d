"""The text that a model reads of a result: all of it, or a preview and a handle."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from onetool.domain.calls.call import ToolResult
from onetool.domain.content.media import Media
from onetool.domain.content.part_json import MediaOptions, parts_to_json
from onetool.domain.content.parts import Part, media_in
from onetool.domain.content.resources import PromptContent
from onetool.domain.identity.principal import Principal, current_principal
from onetool.domain.results.result_page import ResultPage
from onetool.domain.results.stored_result import ModelText, StoredResult, cut_unstored, preview
from onetool.domain.text.json_text import encode
from onetool.domain.text.model_text import to_model_text
from onetool.pipeline.code_runner import CodeResult
from onetool.pipeline.token_savings import TokenSavings
from onetool.ports import ResultStore
from onetool.threads import Threads

from .finished_calls import finished_calls_json, finished_calls_text

LISTING_TOOLS = frozenset({"ot.tools", "ot.packs", "ot.help", "ot.find"})
log = logging.getLogger(__name__)


class ModelOutput:
    """Renders results as text. A text over the limit is stored; the model gets a preview and its handle.

    It is stored for the principal of the request in progress, which gets the handle.
    A page of a stored result is not stored again: a part of it is shown with the calls that read on.
    """

    def __init__(
        self,
        results: ResultStore,
        savings: TokenSavings,
        threads: Threads,
        *,
        max_inline_bytes: int,
        ttl_s: float,
        unlisted: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """unlisted: returns the servers that are missing in listings of tools, and why."""
        self._unlisted = unlisted
        self._results, self._savings, self._threads = results, savings, threads
        self._max_inline_bytes, self._ttl_s = max_inline_bytes, ttl_s

    async def render_run(self, result: CodeResult) -> ModelText:
        """Render what a run printed, its result or error, and what is missing in listings of tools."""
        rendered = await self._render_run(result)
        return rendered._replace(text=rendered.text + self._note(call.name for call in result.calls))

    async def _render_run(self, result: CodeResult) -> ModelText:
        if result.error is not None:
            error = await self.render_error(result)
            printed = await self._render_printed(result)
            return ModelText(f"{printed.text}Error: {error.text}", printed.handle or error.handle)
        if result.data is None:
            return await self.shorten(result.printed, "run")
        if isinstance(result.data, ResultPage):
            printed = await self._render_printed(result)
            return printed._replace(text=printed.text + await self._render_page(result.data))
        text = await self._to_text(result.data)
        text = "\n".join([result.printed + text, *map(str, result.beside)])
        return await self.shorten(text, "run", result.data)

    async def render_error(self, result: CodeResult) -> ModelText:
        """Render the error of a run, and the calls that had finished, with the handle of their results."""
        message = result.error.message if result.error else ""
        if not result.finished_calls:
            return ModelText(message)
        text = await self._threads.run(finished_calls_json, result.finished_calls)
        try:
            handle = (await self._store(text, "run")).handle
        except OSError as error:
            handle = ""
            log.error("cannot store the results of a failed run: %s", error)
        return ModelText(f"{message}\n{finished_calls_text(result.finished_calls, handle)}", handle)

    async def render_value(self, value: Any, tool: str) -> ModelText:
        """Render the result of one tool call."""
        if isinstance(value, ResultPage):
            return ModelText(await self._render_page(value))
        text = await self._to_text(value)
        rendered = await self.shorten(text, tool, value)
        return rendered._replace(text=rendered.text + self._note([tool]))

    async def _to_text(self, value: Any) -> str:
        """Return a value as text. Only a string, number or None takes no time that needs a thread."""
        if isinstance(value, str | int | float | None):
            return to_model_text(value, self._max_inline_bytes)
        return await self._threads.run(to_model_text, value, self._max_inline_bytes)

    async def shorten(self, text: str, tool: str, value: Any = None) -> ModelText:
        """Return a short text unchanged; store a long one and return a preview with its handle.

        value: the dict or list that the text shows. It is stored too, to read parts of it by path.
        If it cannot be stored, return its beginning and say so.
        """
        if len(text.encode("utf-8", "replace")) <= self._max_inline_bytes:
            return ModelText(text)
        try:
            stored = await self._store(text, tool, value)
        except OSError as error:  # a full disk: the call itself succeeded
            log.error("cannot store a result of %s: %s", tool, error)
            return ModelText(cut_unstored(text, self._max_inline_bytes, str(error)))
        shown = preview(stored, text)
        self._savings.count_result(stored.size_bytes, shown)
        return ModelText(shown, stored.handle)

    async def store_media(self, media: Iterable[Media], tool: str, principal: Principal) -> frozenset[str]:
        """Store media for a principal. Return the handles that it can read."""
        stored, owner = set[str](), principal.scope
        try:
            for item in media:
                await self._results.put_media(item, tool, self._ttl_s, owner=owner)
                stored.add(item.handle)
        except OSError as error:  # a full disk: the call itself succeeded
            log.error("cannot store media of %s: %s", tool, error)
        return frozenset(stored)

    async def render_parts(
        self, parts: Sequence[Part], tool: str, *, inline: bool = False
    ) -> list[dict[str, Any]]:
        """Return the parts of a result as JSON, with handles of their media, which are stored.

        inline: whether to add the bytes of media, as base64 in the field `data`.
        """
        handles = await self.store_media(media_in(parts), tool, current_principal())
        return await self._threads.run(parts_to_json, parts, MediaOptions(handles, inline))

    async def render_prompt(self, result: ToolResult) -> dict[str, Any]:
        """Return the messages of a prompt as JSON, with handles of their media."""
        parts = await self.render_parts(result.parts, result.meta.tool)
        content = result.content
        return content.with_parts(parts) if isinstance(content, PromptContent) else {"messages": []}

    def _note(self, tools: Iterable[str]) -> str:
        """Return a line that names the servers whose tools are missing, if one of the tools lists tools."""
        if LISTING_TOOLS.isdisjoint(tools) or not (unlisted := self._unlisted()):
            return ""
        return "\n" + "\n".join(f"# Missing: the tools of {name} ({why})." for name, why in unlisted.items())

    async def _store(self, text: str, tool: str, value: Any = None) -> StoredResult:
        owner, handle = current_principal().scope, ""
        if isinstance(value, dict | list):
            content = (await self._threads.run(encode, value)).decode("utf-8", "surrogatepass")
            handle = (await self._results.put(content, tool, self._ttl_s, owner=owner)).handle
        return await self._results.put(text, tool, self._ttl_s, owner=owner, value=handle)

    async def _render_printed(self, result: CodeResult) -> ModelText:
        """Render what a run printed, on lines of its own if it is shortened."""
        printed = await self.shorten(result.printed, "run")
        return printed._replace(text=f"{printed.text}\n") if printed.handle else printed

    async def _render_page(self, page: ResultPage) -> str:
        return await self._threads.run(page.to_model_text, self._max_inline_bytes)
