"""What an import contains, recognized by its content."""

import json
import tomllib
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Literal
from zipfile import ZipFile

from onetool.domain.servers.client_config import URL_KEYS
from onetool.domain.servers.pasted import SECTIONS
from onetool.domain.text.strings import pluralize, truncate_middle
from onetool.files.jsonc_editor import parse_jsonc
from onetool.files.safe_yaml import InvalidYaml, YamlRules, read_yaml
from onetool.files.zip_files import CENTRAL_HEADER, LOCAL_HEADER, MAX_ENTRIES, UNREADABLE
from onetool.settings.documents import SETTINGS_FILE

from .given import GivenSource

Kind = Literal["openapi", "servers", "bundle", "pack", "setup"]
MANIFEST_FILE = "setup.yaml"
BUNDLE_FILE = "bundle.json"
UNDERSTOOD = (
    'OneTool imports an OpenAPI 3 document, the servers of an MCP client ({"mcpServers": ...}), a bundle '
    "(.zip), a pack (.py), and a setup (.zip or directory)."
)
JSON_STARTS = ("{", '"', "//", "/*", "[")
YAML_RULES = YamlRules(max_bytes=5 * 2**20, max_depth=200, max_expanded=32 * 2**20, json_types=True)
MAX_SHOWN = 6


class UnknownContent(Exception):
    """OneTool cannot import the content. The message says what was found and what is understood."""

    def __init__(self, found: str) -> None:
        super().__init__(f"{found} {UNDERSTOOD}")


def recognize(source: GivenSource) -> tuple[Kind, Any]:
    """Return what a source contains, and the parsed value of servers. It blocks.

    Raises:
        UnknownContent: OneTool cannot import it.
    """
    if source.directory is not None:
        files = [name for name in (MANIFEST_FILE, SETTINGS_FILE) if (source.directory / name).is_file()]
        if not files:
            raise UnknownContent(f"{source.origin} has neither {MANIFEST_FILE} nor {SETTINGS_FILE}.")
        return "setup", None
    if source.content.startswith(LOCAL_HEADER):
        return _recognize_zip(source.content), None
    if source.name.endswith(".py"):
        return "pack", None
    return _recognize_text(source)


def _recognize_zip(content: bytes) -> Kind:
    try:
        if content.count(CENTRAL_HEADER) > MAX_ENTRIES:
            raise UnknownContent(f"The archive has more than {MAX_ENTRIES} entries.")
        with ZipFile(BytesIO(content)) as archive:
            names = archive.namelist()
    except UNREADABLE:
        raise UnknownContent("This is a damaged ZIP archive.") from None
    if MANIFEST_FILE in names:
        return "setup"
    if BUNDLE_FILE in names:
        return "bundle"
    raise UnknownContent(f"The archive has neither {MANIFEST_FILE} nor {BUNDLE_FILE}, but: {_list(names)}.")


def _recognize_text(source: GivenSource) -> tuple[Kind, Any]:
    try:
        text = source.content.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise UnknownContent(f"The content is not text. It starts with {source.content[:16]!r}.") from None
    value = _parse(source.name, text)
    if not isinstance(value, Mapping):
        raise UnknownContent(f"The content starts with {truncate_middle(text[:60], 60)!r}.")
    if "openapi" in value:
        return "openapi", None
    if "swagger" in value:
        raise UnknownContent("This is a Swagger 2.0 document. Convert it to OpenAPI 3 first.")
    if has_servers(value):
        return "servers", value
    raise UnknownContent(
        f"The content is a map with {pluralize(len(value), 'key')}: {_list(map(str, value))}."
    )


def has_servers(value: Mapping[str, Any]) -> bool:
    """Return whether a value has servers of an MCP client: a section, a map of servers, or one server."""
    sections = [value[key] for key in SECTIONS if isinstance(value.get(key), Mapping)]
    return bool(sections) or _is_server(value) or any(map(_is_server, value.values()))


def _is_server(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(value.get(key), str) for key in ("command", *URL_KEYS)
    )


def _parse(name: str, text: str) -> Any:
    """Return the value of a JSON, TOML or YAML text; None if it is none of them."""
    parse: Callable[[str], Any]
    if name.endswith(".toml"):
        parse = tomllib.loads
    elif text.startswith(JSON_STARTS):
        # Instructions often show a member of an object without its braces.
        text = f"{{{text.rstrip(',')}}}" if text.startswith('"') else text
        parse = _parse_json
    else:
        parse = _parse_yaml
    try:
        return parse(text)
    except InvalidYaml as error:
        raise UnknownContent(f"The content is not valid YAML: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise UnknownContent(f"The content is not valid: {error}.") from None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return parse_jsonc(text)  # much slower, and accepts comments


def _parse_yaml(text: str) -> Any:
    return read_yaml(text.encode(), YAML_RULES)


def _list(names: Any) -> str:
    shown = [repr(truncate_middle(name, 40)) for name in names]
    more = f" and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
    return ", ".join(shown[:MAX_SHOWN]) + more
