"""The differences that OneTool makes on purpose: what a client receives, from the direct response."""

import base64
import keyword
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

NAME = "tried_server"
"""The name of the server in OneTool. The underscore is written as `-` in URIs."""
INSTRUCTIONS = "instructions"
LISTS_OF_CHANGES = ("tools", "resources", "prompts")
TEXT_KEYS = ("content", "result")


class Reason(StrEnum):
    """Why a response through OneTool is not the direct one."""

    NAME = "MCP-15, MCP-24: names of tools and prompts contain the name of the server"
    URI = "MCP-24: URIs contain the name of the server"
    DESCRIBED = "MCP-03, MCP-04: `run` and `search` describe tools by signature, description and arguments"
    VALUE = "MCP-04: `run` returns what code sees: structured content, text or parts, then the media"
    CAPABILITIES = "MCP-22: changes of lists are always reported, and tasks of servers are not offered"
    CHECKED = "MCP-22: arguments are checked before they are sent; the error says the same in other words"
    UNKNOWN = "MCP-22, MCP-32: an unknown name or URI; the error says the same in other words"
    FINDINGS = "MCP-31: the text of a resource contains instructions for a model; `_meta` says so"
    QUARANTINED = "MCP-22, MCP-35: tools and instructions that look like prompt injection are quarantined"


class Expected(NamedTuple):
    """What a client should receive, and why it is not the direct response."""

    value: Any
    reasons: frozenset[Reason] = frozenset()

    def change(self, value: Any, reason: Reason) -> "Expected":
        """Return another value, with its reason if it is different."""
        return self if value == self.value else Expected(value, self.reasons | {reason})


def python_name(name: str) -> str:
    """Return the name of a tool or prompt in code."""
    return re.sub(r"\W", "_", name)


def parameter_name(name: str) -> str:
    """Return the name of a parameter in code."""
    return f"{name}_" if keyword.iskeyword(name) else python_name(name)


def namespaced(uri: str) -> str:
    """Return a URI outside `--only`."""
    prefix = f"ot.{NAME.replace('_', '-')}+"
    return f"ui://{prefix}{uri[5:]}" if uri.startswith("ui://") else prefix + uri


def expected_key(interface: str, method: str, key: str) -> str:
    """Return the name or URI under which an interface lists something."""
    if interface == "only":
        return key
    if method.startswith("resources/"):
        return namespaced(key)
    separator = "." if method == "tools/list" and interface != "all" else "__"
    return f"{NAME}{separator}{python_name(key)}"


def expected_entry(interface: str, method: str, entry: Mapping[str, Any]) -> Expected:
    """Return the entry of a list."""
    direct = Expected(entry)
    if interface == "only":
        return direct
    if method == "tools/list" and interface != "all":
        return direct.change(described(entry), Reason.DESCRIBED)
    found = direct.change(with_namespaced_uris(entry), Reason.URI)
    if method.startswith("resources/"):
        return found
    return found.change({**found.value, "name": expected_key(interface, method, entry["name"])}, Reason.NAME)


def described(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `ot.tools` must show of a tool."""
    properties = tool["inputSchema"].get("properties", {})
    texts = {parameter_name(name): field.get("description", "") for name, field in properties.items()}
    return {
        "name": f"{NAME}.{python_name(tool['name'])}",
        "description": words(tool.get("description") or tool.get("title") or ""),
        "parameters": sorted(texts),
        "args": {name: words(text) for name, text in texts.items() if text},
    }


def words(text: str) -> str:
    """Return a text without its layout."""
    return " ".join(text.split())


def expected_handshake(result: Mapping[str, Any]) -> Expected:
    """Return the capabilities and instructions through `--only`."""
    capabilities = {key: value for key, value in result["capabilities"].items() if key != "tasks"}
    for key in LISTS_OF_CHANGES:
        if key in capabilities:
            capabilities[key] = capabilities[key] | {"listChanged": True}
    return Expected(result).change({**result, "capabilities": capabilities}, Reason.CAPABILITIES)


def expected_response(interface: str, method: str, direct: Any, schema: Any = None) -> Expected:
    """Return the response to a request; schema: the output schema of a called tool."""
    found = Expected(direct)
    if interface == "only":
        return found
    found = found.change(with_namespaced_uris(direct), Reason.URI)
    if method == "tools/call" and interface == "run":
        return found.change(run_outcome(found.value, schema), Reason.VALUE)
    return found


def explain_error(direct: Any, through: Any) -> Reason | None:
    """Return why two errors differ; None if one of them is no error, or if there is no reason."""
    before, after = error_text(direct), error_text(through)
    if not before or not after:
        return None
    if re.search(r"Invalid arguments for|line \d+: .*[Aa]rgument", after):
        return Reason.CHECKED
    if re.search(r"(Tool|Prompt|Resource) not found|Unknown (tool|prompt)|there is no tool", after):
        return Reason.UNKNOWN
    if "error" in through and "error" in direct and after == f"Server '{NAME}': {before}":
        return Reason.UNKNOWN
    return None


def without_findings(received: Any) -> Any:
    """Return the contents of a resource without the mark of signs of prompt injection."""
    meta = dict(received.get("_meta") or {})
    if meta.pop("onetool/findings", None) is None:
        return received
    rest = {key: value for key, value in received.items() if key != "_meta"}
    return rest | ({"_meta": meta} if meta else {})


def error_text(response: Any) -> str:
    """Return the message of an error, of either kind; an empty text if there is none."""
    error = (response.get("outcome") or response).get("error")
    if error:
        return str(error["message"] if isinstance(error, Mapping) else error)
    return response["content"][0]["text"] if response.get("isError") else ""


def with_namespaced_uris(value: Any, is_meta: bool = False) -> Any:
    """Return a definition or a response with namespaced URIs in the places that the protocol defines."""
    if isinstance(value, list):
        return [with_namespaced_uris(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    keys = ("resourceUri", "ui/resourceUri") if is_meta else ("uri", "uriTemplate")
    changed = dict(value)
    for key, item in value.items():
        if key in keys and isinstance(item, str):
            changed[key] = namespaced(item)
        elif key == "_meta" or (is_meta and key == "ui"):
            changed[key] = with_namespaced_uris(item, is_meta=True)
        elif key in ("content", "contents", "messages", "resource"):
            changed[key] = with_namespaced_uris(item)
    return changed


def run_outcome(result: Any, schema: Any) -> dict[str, Any]:
    """Return the value or the error that code sees, and the media blocks."""
    if "error" in result:
        return {"outcome": {"error": result["error"]["message"]}, "blocks": []}
    blocks = result["content"]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if result.get("isError"):
        return {"outcome": {"error": "\n\n".join(texts)}, "blocks": []}
    media = [block for block in blocks if "data" in block or "blob" in block.get("resource", {})]
    return {"outcome": {"value": code_value(result, texts, schema)}, "blocks": media}


def code_value(result: Any, texts: list[str], schema: Any) -> Any:
    """Return what code sees of a result."""
    blocks, structured = result["content"], result.get("structuredContent")
    if structured is not None:
        repeats = is_text(structured, "\n\n".join(texts), schema)
        return next(iter(structured.values())) if repeats else structured
    if len(texts) == len(blocks):
        return "\n\n".join(texts)
    parts = [code_part(block) for block in blocks]
    return parts[0] if len(parts) == 1 else parts


def is_text(structured: Any, text: str, schema: Any) -> bool:
    """Return whether structured content is nothing but the text."""
    if list(structured) not in [[key] for key in TEXT_KEYS]:
        return False
    ((key, value),) = structured.items()
    if not isinstance(value, str):
        return False
    properties = (schema or {}).get("properties", {})
    return value == text if schema is None else list(properties) == [key]


def code_part(block: Mapping[str, Any]) -> Any:
    """Return a block as code sees it; media by type and size."""
    if "data" in block:
        return media_value(block["data"], block["mimeType"])
    fields = block.get("resource", block)
    part = {"type": block["type"]}
    part |= {key: fields[key] for key in ("mimeType", "uri", "text", "name") if key in fields}
    return part | ({"data": media_value(fields["blob"], fields.get("mimeType"))} if "blob" in fields else {})


def media_value(data: str, mime_type: str | None) -> dict[str, Any]:
    """Return media as the recording of `run` writes them."""
    return {"media": mime_type, "size": len(base64.b64decode(data))}
