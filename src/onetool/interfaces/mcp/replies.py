"""Results of calls as the MCP interface sends them: content of servers unchanged, other values as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from onetool.domain.calls.approval_request import call_digest
from onetool.domain.calls.call import ToolResult
from onetool.domain.content.content import Content
from onetool.domain.content.media import Media
from onetool.domain.content.parts import Part, media_of, parse_part, part_fields, text_of
from onetool.domain.identity.principal import current_principal
from onetool.runtime.jobs import Work
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import CodeResult, Runtime

WAIT_IN_RUN = 'ot.wait(id="{id}")'
WAIT_BY_NAME = 'call_tool(name="ot.wait", args={{"id": "{id}"}})'
C = TypeVar("C", bound=Content)


class CallReply(NamedTuple):
    """The result or the error of a call."""

    text: str
    is_error: bool
    blocks: Sequence[Mapping[str, Any]] = ()
    """Content blocks after the text."""
    result: Mapping[str, Any] | None = None
    """The whole result of `tools/call`, in place of the text and the blocks."""

    def to_json(self) -> Mapping[str, Any]:
        """Return the result of `tools/call`."""
        if self.result is not None:
            return self.result
        return {"content": [_text_block(self.text), *self.blocks], "isError": self.is_error}


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that is ready to run."""

    tool: str
    """The name of the tool, or `run`."""
    args: Mapping[str, Any]
    work: Work
    wait: str = ""
    """How the client waits for the call if it takes long; empty if its result must have a certain form."""

    @property
    def digest(self) -> str:
        """What identifies the call."""
        return call_digest(self.tool, self.args)


def prepare_run(runtime: Runtime, code: str) -> PreparedCall:
    """Prepare code."""
    return PreparedCall(
        "run",
        {"command": code},
        lambda caller: runtime.run(code, caller),
        WAIT_IN_RUN,
    )


def prepare_call(runtime: Runtime, name: str, args: Mapping[str, Any], wait: str = "") -> PreparedCall:
    """Prepare a call of a tool."""
    return PreparedCall(
        name,
        args,
        lambda caller: runtime.call_tool(name, args, caller, "mcp"),
        wait,
    )


async def render_outcome(runtime: Runtime, tool: str, outcome: Outcome) -> CallReply:
    """Return what a client gets.

    Of code, what it printed and its value as text, then the media in the value. Of a tool, the content of a
    server as it is, or the value as text and media.
    """
    if isinstance(outcome, ToolResult):
        return await _call_reply(runtime, tool, outcome)
    return await _run_reply(runtime, outcome)


async def _run_reply(runtime: Runtime, result: CodeResult) -> CallReply:
    rendered = await runtime.state.model_output.render_run(result)
    return CallReply(rendered.text, not result.ok, await _media_blocks(runtime, result.media, "run"))


async def _call_reply(runtime: Runtime, name: str, result: ToolResult) -> CallReply:
    if result.content is not None:
        return await _content_reply(runtime, name, result.content)
    if result.error is not None:
        return CallReply(f"Error: {result.error.message.removeprefix('Error: ')}", True)
    output = runtime.state.model_output
    await output.store_media(result.media, name, current_principal())  # the text has their handles
    rendered = await output.render_value(result.data, name)
    return CallReply(rendered.text, False, await _media_blocks(runtime, result.media, name))


async def _content_reply(runtime: Runtime, tool: str, content: Content) -> CallReply:
    """Return content as it is, except for a text that is too long for a model and too large media."""
    texts = [text for part in content.parts if (text := text_of(part)) is not None]
    whole, parts = "\n\n".join(texts), list(content.parts)
    shortened = await runtime.state.model_output.shorten(whole, tool)
    if shortened.text != whole:
        parts = [parse_part(_text_block(shortened.text)), *(part for part in parts if text_of(part) is None)]
    blocks = [await _part_block(runtime, part, tool) for part in parts]
    return CallReply(shortened.text, content.is_error, result={"content": blocks, **content.fields})


async def stored_if_large(runtime: Runtime, content: C, tool: str) -> C:
    """Return content whose too large media are stored, with a link to each in place of its bytes."""
    parts = []
    for part in content.parts:
        media = media_of(part)
        if media is not None and media.size > runtime.state.configuration.settings.output.max_media_size:
            part = parse_part({"type": "resource", "resource": await _stored_resource(runtime, media, tool)})
        parts.append(part)
    return content._replace(parts=tuple(parts))


async def _stored_resource(runtime: Runtime, media: Media, tool: str) -> Mapping[str, Any]:
    """Return a resource with a text that says where the bytes are."""
    resource = {**media.block["resource"]}
    resource.pop("blob")
    is_stored = await runtime.state.model_output.store_media([media], tool, current_principal())
    place = f"read {media.to_link()['uri']}" if is_stored else "it could not be stored"
    return resource | {"text": f"{media} is larger than output.max_media_size: {place}."}


async def _part_block(runtime: Runtime, part: Part, tool: str) -> Mapping[str, Any]:
    media = media_of(part)
    return part_fields(part) if media is None else await media_block(runtime, media, tool)


async def _media_blocks(runtime: Runtime, media: Sequence[Media], tool: str) -> list[Mapping[str, Any]]:
    return [await media_block(runtime, item, tool) for item in media]


async def media_block(runtime: Runtime, media: Media, tool: str) -> Mapping[str, Any]:
    """Return the block of media; a link to them if they are too large, or a line if they cannot be stored."""
    state = runtime.state
    if media.size <= state.configuration.settings.output.max_media_size:
        return media.to_block()
    if await state.model_output.store_media([media], tool, current_principal()):
        return media.to_link()
    return _text_block(f"{media} is larger than output.max_media_size and could not be stored.")


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
