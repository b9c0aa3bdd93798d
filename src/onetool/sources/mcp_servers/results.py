"""What a server answered, as a tool's result."""

from typing import Any

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.texts import cut

LONGEST_ERROR = 4000


def to_data(result: CallToolResult, tool: str) -> Any:
    """Return structured content as it is, texts as one text, and everything else as maps.

    Raises ExecutionError when the server says that the call failed.
    """
    if result.is_error:
        text = cut(_joined(result.content), LONGEST_ERROR)
        raise ExecutionError(Reason.UPSTREAM, text or f"{tool} failed and did not say why.")
    if result.structured_content is not None:
        return result.structured_content
    if all(isinstance(block, TextContent) for block in result.content):
        return _joined(result.content)
    blocks = [_block(block) for block in result.content]
    return blocks[0] if len(blocks) == 1 else blocks


def _joined(content: list[ContentBlock]) -> str:
    return "\n\n".join(block.text for block in content if isinstance(block, TextContent))


def _block(block: ContentBlock) -> dict[str, Any]:
    if isinstance(block, EmbeddedResource):
        inner = block.resource.model_dump(mode="json", by_alias=True, exclude_none=True)
        found = {"uri": inner.get("uri"), "data": inner.get("blob"), "text": inner.get("text")}
        found["mimeType"] = inner.get("mimeType")
    else:
        said = block.model_dump(mode="json", by_alias=True, exclude_none=True)
        found = {key: said.get(key) for key in ("mimeType", "data", "uri", "text", "name")}
    return {"type": block.type} | {key: value for key, value in found.items() if value is not None}
