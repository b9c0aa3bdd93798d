"""Outcomes of jobs as text, so that any process can return them. Media are stored by handle."""

import json
from collections.abc import Mapping
from typing import Any

from onetool.domain.calls.call import CallError, CallMeta, ToolResult
from onetool.domain.content.content import Content
from onetool.domain.content.media import Media, find_media
from onetool.domain.content.parts import Embedded, Part, media_in, media_of, parse_part, part_fields
from onetool.domain.content.resources import PromptContent, ResourceContent
from onetool.domain.errors import ErrorCode, Reason, RequestRefused
from onetool.domain.text.json_text import encode, jsonable
from onetool.pipeline.code_runner import CodeError, CodeResult, NestedCall

Outcome = ToolResult | CodeResult
KINDS: Mapping[str, type[Content]] = {
    kind.__name__: kind for kind in (Content, ResourceContent, PromptContent)
}
MEDIA = "onetool.media"
"""The only key of an object that represents media: its value is their handle.

Objects of tools that have only this key are stored with their value in a list.
"""


def outcome_media(outcome: Outcome) -> list[Media]:
    """Return all media of an outcome."""
    if isinstance(outcome, CodeResult):
        return list(outcome.media)
    return media_in(outcome.parts)


def outcome_to_text(outcome: Outcome) -> str:
    """Return an outcome as JSON, without the bytes of its media."""
    fields: dict[str, Any] = {"ok": outcome.ok, "media": [item.handle for item in outcome_media(outcome)]}
    if isinstance(outcome, CodeResult):
        fields |= {
            "printed": outcome.printed,
            "calls": [list(call) for call in outcome.calls],
            "beside": [media.handle for media in outcome.beside],
            "run_error": outcome.error and list(outcome.error),
        }
    else:
        error = outcome.error
        fields |= {"meta": list(outcome.meta), "error": error and error.to_json()}
        if isinstance(outcome.raised, RequestRefused):
            fields["refused"] = [outcome.raised.rpc_code, outcome.raised.rpc_data]
        if outcome.content is not None:
            content = outcome.content
            parts = [_part_to_json(part) for part in content.parts]
            fields["content"] = {
                "kind": type(content).__name__,
                "parts": parts,
                "fields": content.fields,
                "schema": content.output_schema,
            }
    if not isinstance(outcome, ToolResult) or outcome.content is None:
        fields["data"] = _with_handles(jsonable(outcome.data, keep=Media))
    return encode(jsonable(fields)).decode()


def handles_in(text: str) -> list[str]:
    """Return the handles of the media in the text of an outcome."""
    handles: list[str] = json.loads(text)["media"]
    return handles


def outcome_from_text(text: str, media: Mapping[str, Media]) -> Outcome:
    """Return the outcome of `outcome_to_text`.

    media: the stored media by handle. One line replaces those that have expired.
    """
    fields = json.loads(text)
    if "printed" in fields:
        data, error = _with_media(fields["data"], media), fields["run_error"]
        beside = [media[handle] for handle in fields["beside"] if handle in media]
        return CodeResult(
            fields["ok"],
            data,
            fields["printed"],
            CodeError(error[0], Reason(error[1]), error[2]) if error else None,
            tuple(NestedCall(*call) for call in fields["calls"]),
            media=(*find_media(data), *beside),
            beside=beside,
        )
    return _tool_result(fields, media)


def _tool_result(fields: Mapping[str, Any], media: Mapping[str, Media]) -> ToolResult:
    meta = CallMeta(*fields["meta"])
    meta = meta._replace(reason=Reason(meta.reason) if meta.reason else None)
    failed = fields["error"]
    error = failed and CallError(
        tool=failed["tool"], code=ErrorCode(failed["code"]), message=failed["message"]
    )
    if "content" not in fields:
        data = _with_media(fields["data"], media)
        refused = RequestRefused(failed["message"], *fields["refused"]) if "refused" in fields else None
        return ToolResult(fields["ok"], meta, data, error, refused, media=find_media(data))
    stored = fields["content"]
    parts = tuple(_part_from_json(part, media) for part in stored["parts"])
    content = KINDS[stored["kind"]](parts, stored["fields"], stored["schema"])
    data = content.to_data() if fields["ok"] else None
    return ToolResult(fields["ok"], meta, data, error, content=content, media=find_media(data))


def _part_to_json(part: Part) -> dict[str, Any]:
    media = media_of(part)
    return {"fields": part_fields(part), "handle": media.handle if media else ""}


def _part_from_json(stored: Mapping[str, Any], media: Mapping[str, Media]) -> Part:
    fields, handle = stored["fields"], stored["handle"]
    if not handle:
        return parse_part(fields)
    if handle not in media:
        return parse_part({"type": "text", "text": _expired(handle)})
    found = media[handle].with_block(fields)
    return Embedded(fields, found) if fields.get("type") == "resource" else found


def _with_handles(value: Any) -> Any:
    if isinstance(value, Media):
        return {MEDIA: value.handle}
    if isinstance(value, dict):
        if list(value) == [MEDIA]:
            return {MEDIA: [_with_handles(value[MEDIA])]}
        return {key: _with_handles(item) for key, item in value.items()}
    return [_with_handles(item) for item in value] if isinstance(value, list) else value


def _with_media(value: Any, media: Mapping[str, Media]) -> Any:
    if isinstance(value, dict):
        if list(value) == [MEDIA]:
            found = value[MEDIA]
            return media.get(found, _expired(found)) if isinstance(found, str) else _own(found[0], media)
        return {key: _with_media(item, media) for key, item in value.items()}
    return [_with_media(item, media) for item in value] if isinstance(value, list) else value


def _own(value: Any, media: Mapping[str, Media]) -> dict[str, Any]:
    """Return the object of a tool that looks like media."""
    return {MEDIA: _with_media(value, media)}


def _expired(handle: str) -> str:
    return f"[media {handle} have expired]"
