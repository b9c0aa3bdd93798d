"""The text that a model reads of a result: all of it, or a preview and a handle."""

from typing import Any

from onetool.domain.results.stored_result import ModelText, preview
from onetool.domain.text.model_text import to_model_text
from onetool.pipeline.code_runner import CodeResult, format_result
from onetool.pipeline.token_savings import TokenSavings
from onetool.ports import ResultStore
from onetool.threads import Threads


class ModelOutput:
    """Renders results as text. A text over the limit is stored; the model gets a preview and its handle."""

    def __init__(
        self, results: ResultStore, savings: TokenSavings, threads: Threads, *, max_inline_bytes: int
    ) -> None:
        self._results, self._savings, self._threads = results, savings, threads
        self._max_inline_bytes = max_inline_bytes

    async def render_run(self, result: CodeResult) -> ModelText:
        """Render what a run printed, and its result or error."""
        text = await self._threads.run(format_result, result, self._max_inline_bytes)
        return await self.shorten(text, "run")

    async def render_value(self, value: Any, tool: str) -> ModelText:
        """Render the result of one tool call."""
        text = await self._threads.run(to_model_text, value, self._max_inline_bytes)
        return await self.shorten(text, tool)

    async def shorten(self, text: str, tool: str) -> ModelText:
        """Return a short text unchanged; store a long one and return a preview with its handle."""
        if len(text.encode("utf-8", "replace")) <= self._max_inline_bytes:
            return ModelText(text)
        stored = await self._threads.run(self._results.put, text, tool)
        shown = preview(stored, text)
        self._savings.count_result(stored.size_bytes, shown)
        return ModelText(shown, stored.handle)
