"""Packs that are not stored, shown as bundles: shipped ones, pack files, settings, other servers."""

from collections.abc import Mapping

from .bundle import Bundle, Listed, ToolVersion, rfc3339
from .bundle_ids import slug_of
from .ids import named_id
from .tool import CURRENT, ToolSpec

ALWAYS = rfc3339(0)
OFF = "switched off"
BUNDLE_OFF = "its bundle is switched off"


def bundle_id_of(pack: str) -> str:
    """The id of a pack that is not stored."""
    return named_id("bundle", pack)


def tool_id_of(name: str) -> str:
    """The id of a tool that is not stored."""
    return named_id("tool", name)


def bundle_of(pack: str, spec: ToolSpec, switches: Mapping[str, bool]) -> Bundle:
    """A pack as a bundle; any of its tools says where it comes from."""
    bundle_id = bundle_id_of(pack)
    return Bundle(
        id=bundle_id,
        slug=slug_of(pack),
        display_name=pack,
        is_enabled=switches.get(bundle_id, True),
        is_built_in=spec.origin == "builtin",
        origin=spec.origin,
        created_at=ALWAYS,
        modified_at=ALWAYS,
    )


def listed_of(spec: ToolSpec, bundle: Bundle, switches: Mapping[str, bool]) -> Listed:
    """A tool that is not stored as one that is: version `current`, and only its switch can be changed."""
    tool_id = tool_id_of(spec.name)
    tool = ToolVersion(
        id=tool_id,
        bundle_id=bundle.id,
        slug=slug_of(spec.qualified_name.partition(".")[2]),
        version=CURRENT,
        type="python",
        arg_schema=spec.input_schema,
        output_schema=spec.output_schema,
        display_name=spec.qualified_name,
        description=spec.description,
        tags=spec.tags,
        is_enabled=switches.get(tool_id, True),
        is_built_in=bundle.is_built_in,
        python_impl={"func": spec.name},
        created_at=ALWAYS,
        modified_at=ALWAYS,
    )
    return Listed(tool, bundle, spec.qualified_name)
