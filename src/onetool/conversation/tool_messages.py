"""Results of tools as messages for a model, and as the user sees them."""

from collections.abc import Sequence
from dataclasses import replace

from onetool.domain.calls.call import ToolCall, ToolResult
from onetool.domain.chat.messages import Message
from onetool.domain.content.audience import Reader
from onetool.domain.content.media import Media, find_media
from onetool.domain.content.parts import media_in
from onetool.domain.content.reference import MediaReference
from onetool.runtime.model_output import ModelOutput

MAX_MEDIA_LINES = 20
FOR_USER = "The result is for the user, who sees it."


def result_for(result: ToolResult, reader: Reader) -> ToolResult:
    """Return what a reader sees of a result; the same object if all of it is for this reader."""
    if result.content is None or (content := result.content.for_reader(reader)) is result.content:
        return result
    if result.error is not None:
        error = replace(result.error, message=content.error_text(result.meta.tool))
        return result._replace(error=error, content=content)
    data = content.to_data()
    return result._replace(data=data, content=content, media=find_media(data))


async def make_message(call: ToolCall, result: ToolResult, output: ModelOutput) -> Message:
    """Return the message for the model: a text with one line for each of the media.

    A large text becomes a preview and a handle.
    """
    for_model, for_user = result_for(result, "assistant"), result_for(result, "user")
    text, user_text = await _render(for_model, output), None
    if for_model is not for_user:
        text, user_text = text or FOR_USER, await _render(for_user, output)
    return Message(
        role="tool",
        text=text,
        call_id=call.id,
        name=call.name,
        failed=not result.ok,
        user_text=user_text,
        media=tuple(map(MediaReference.of, media_in(result.parts))),
    )


async def _render(result: ToolResult, output: ModelOutput) -> str:
    if result.error is not None:
        text = f"Error: {result.error.message.removeprefix('Error: ')}"
    else:
        text = (await output.render_value(result.data, result.meta.tool)).text
    lines = _missing_lines(text, media_in(result.parts))
    return "\n".join([*([text] if text or not lines else []), *lines])


def _missing_lines(text: str, media: Sequence[Media]) -> list[str]:
    """Return a line for each of the media that the text does not name."""
    missing = [item for item in media if item.handle not in text]
    lines = [str(item) for item in missing[:MAX_MEDIA_LINES]]
    more = len(missing) - len(lines)
    return [*lines, f"And {more} more."] if more else lines
