"""Tools, pack instructions and snippets that are available to the caller."""

from onetool.catalog.snippets import describe_snippet as render_snippet
from onetool.domain.tools.found_tools import FoundTools
from onetool.domain.tools.tool import ToolSpec
from onetool.runtime.active_call import current_call

from .calls import wait_for


def list_tools() -> list[ToolSpec]:
    """Return all tools that the caller may call."""
    active = current_call()
    specs = active.runtime.state.catalog.specs(active.invocation.caller)
    return wait_for(active, specs, "list_tools()")


def find_tools(query: str, limit: int = 5) -> FoundTools:
    """Return the best matches for a query among the tools that the caller may call."""
    active = current_call()
    matches = active.runtime.state.search.find(query, active.invocation.caller, limit)
    return wait_for(active, matches, "find_tools()")


def instructions(pack: str) -> str:
    """Return the instructions for a pack from `prompts.yaml`, or an empty string."""
    return current_call().runtime.state.configuration.prompts.packs.get(pack, "").strip()


def show_snippet(name: str) -> str:
    """Return a description of a snippet: definition, example and the expanded example.

    Raises:
        KeyError: There is no snippet with this name.
    """
    return render_snippet(name, current_call().runtime.state.configuration.settings.snippets[name])
