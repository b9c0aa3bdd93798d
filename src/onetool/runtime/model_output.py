"""The text that a model reads of a result: all of it, or a preview and a handle."""

from typing import Any

from onetool.domain.results.result_page import ResultPage
from onetool.domain.results.stored_result import ModelText, StoredResult, preview
from onetool.domain.text.model_text import to_model_text
from onetool.pipeline.code_runner import CodeResult
from onetool.pipeline.token_savings import TokenSavings
from onetool.ports import ResultStore
from onetool.threads import Threads

from .finished_calls import finished_calls_json, finished_calls_text


class ModelOutput:
    """Renders results as text. A text over the limit is stored; the model gets a preview and its handle.

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
    ) -> None:
        self._results, self._savings, self._threads = results, savings, threads
        self._max_inline_bytes, self._ttl_s = max_inline_bytes, ttl_s

    async def render_run(self, result: CodeResult) -> ModelText:
        """Render what a run printed, and its result or error."""
        if result.error is not None:
            error = await self.render_error(result)
            printed = await self._render_printed(result)
            return ModelText(f"{printed.text}Error: {error.text}", printed.handle or error.handle)
        if result.data is None:
            return await self.shorten(result.printed, "run")
        if isinstance(result.data, ResultPage):
            printed = await self._render_printed(result)
            return printed._replace(text=printed.text + await self._render_page(result.data))
        text = await self._threads.run(to_model_text, result.data, self._max_inline_bytes)
        return await self.shorten(result.printed + text, "run")

    async def render_error(self, result: CodeResult) -> ModelText:
        """Render the error of a run, and the calls that had finished, with the handle of their results."""
        message = result.error.message if result.error else ""
        if not result.finished_calls:
            return ModelText(message)
        text = await self._threads.run(finished_calls_json, result.finished_calls)
        stored = await self._store(text, "run")
        calls = finished_calls_text(result.finished_calls, stored.handle)
        return ModelText(f"{message}\n{calls}", stored.handle)

    async def render_value(self, value: Any, tool: str) -> ModelText:
        """Render the result of one tool call."""
        if isinstance(value, ResultPage):
            return ModelText(await self._render_page(value))
        text = await self._threads.run(to_model_text, value, self._max_inline_bytes)
        return await self.shorten(text, tool)

    async def shorten(self, text: str, tool: str) -> ModelText:
        """Return a short text unchanged; store a long one and return a preview with its handle."""
        if len(text.encode("utf-8", "replace")) <= self._max_inline_bytes:
            return ModelText(text)
        stored = await self._store(text, tool)
        shown = preview(stored, text)
        self._savings.count_result(stored.size_bytes, shown)
        return ModelText(shown, stored.handle)

    async def _store(self, text: str, tool: str) -> StoredResult:
        return await self._results.put(text, tool, self._ttl_s)

    async def _render_printed(self, result: CodeResult) -> ModelText:
        """Render what a run printed, on lines of its own if it is shortened."""
        printed = await self.shorten(result.printed, "run")
        return printed._replace(text=f"{printed.text}\n") if printed.handle else printed

    async def _render_page(self, page: ResultPage) -> str:
        return await self._threads.run(page.to_model_text, self._max_inline_bytes)
