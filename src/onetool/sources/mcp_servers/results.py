"""Conversion of MCP tool results to data."""

from typing import Any

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.servers.text_results import to_text
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.tool import JsonSchema

MAX_ERROR_LENGTH = 4000


def to_data(result: CallToolResult, tool: str, output_schema: JsonSchema | None = None) -> Any:
    """Return structured content, text blocks as one string, and other blocks as dicts.

    Structured content that only repeats the text becomes the text.

    Raises:
        ExecutionError: The result is an error.
    """
    if result.is_error:
        text = truncate_middle(_join_text(result.content), MAX_ERROR_LENGTH)
        raise ExecutionError(Reason.UPSTREAM, text or f"{tool} failed without an error message.")
    if result.structured_content is not None:
        return to_text(result.structured_content, _join_text(result.content), output_schema)
    if all(isinstance(block, TextContent) for block in result.content):
        return _join_text(result.content)
    blocks = [_block_to_dict(block) for block in result.content]
    return blocks[0] if len(blocks) == 1 else blocks


def _join_text(content: list[ContentBlock]) -> str:
    return "\n\n".join(block.text for block in content if isinstance(block, TextContent))


def _block_to_dict(block: ContentBlock) -> dict[str, Any]:
    if isinstance(block, EmbeddedResource):
        resource = block.resource.model_dump(mode="json", by_alias=True, exclude_none=True)
        fields = {"uri": resource.get("uri"), "data": resource.get("blob"), "text": resource.get("text")}
        fields["mimeType"] = resource.get("mimeType")
    else:
        dumped = block.model_dump(mode="json", by_alias=True, exclude_none=True)
        fields = {key: dumped.get(key) for key in ("mimeType", "data", "uri", "text", "name")}
    return {"type": block.type} | {key: value for key, value in fields.items() if value is not None}
