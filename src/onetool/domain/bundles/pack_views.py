"""Bundle views of packs that are not stored: built-in packs, pack files, settings and MCP servers."""

from collections.abc import Mapping

from onetool.domain.tools.tool import CURRENT, ToolSpec

from .bundle import Bundle, StoredTool, ToolVersion, rfc3339
from .derived_ids import derived_id
from .identifiers import to_slug

EPOCH = rfc3339(0)
DISABLED = "turned off"
BUNDLE_DISABLED = "its bundle is disabled"


def bundle_id_of(pack: str) -> str:
    """Return the bundle id of a pack that is not stored."""
    return derived_id("bundle", pack)


def tool_id_of(name: str) -> str:
    """Return the id of a tool that is not stored."""
    return derived_id("tool", name)


def bundle_view(pack: str, spec: ToolSpec, toggles: Mapping[str, bool]) -> Bundle:
    """Return a pack as a bundle. `spec` is any tool of the pack; it determines the origin."""
    bundle_id = bundle_id_of(pack)
    return Bundle(
        id=bundle_id,
        slug=to_slug(pack),
        display_name=pack,
        is_enabled=toggles.get(bundle_id, True),
        is_built_in=spec.origin == "builtin",
        origin=spec.origin,
        created_at=EPOCH,
        modified_at=EPOCH,
    )


def tool_view(spec: ToolSpec, bundle: Bundle, toggles: Mapping[str, bool]) -> StoredTool:
    """Return a tool that is not stored as a stored tool with the version `current`."""
    tool_id = tool_id_of(spec.name)
    tool = ToolVersion(
        id=tool_id,
        bundle_id=bundle.id,
        slug=to_slug(spec.qualified_name.partition(".")[2]),
        version=CURRENT,
        type="python",
        arg_schema=spec.input_schema,
        output_schema=spec.output_schema,
        display_name=spec.title or spec.qualified_name,
        description=spec.description,
        tags=spec.tags,
        is_enabled=toggles.get(tool_id, True),
        is_built_in=bundle.is_built_in,
        python_impl={"func": spec.name},
        created_at=EPOCH,
        modified_at=EPOCH,
    )
    return StoredTool(tool, bundle, spec.qualified_name, has_app=spec.has_app)
