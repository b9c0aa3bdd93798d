"""What there is to call: tools, what their packs are told, snippets."""

from onetool.catalog.snippets import show_snippet as show
from onetool.domain.tool import ToolSpec
from onetool.runtime import current

from .calls import wait_for


def list_tools() -> list[ToolSpec]:
    """Return every tool that the caller may call."""
    scope = current()
    visible = scope.runtime.catalog.specs(scope.invocation.caller)
    return wait_for(scope, visible, "list_tools()")


def find_tools(query: str, limit: int = 5) -> list[ToolSpec]:
    """Return the tools that fit a question best, of those that the caller may call."""
    scope = current()
    found = scope.runtime.discovery.find(query, scope.invocation.caller, limit)
    return wait_for(scope, found, "find_tools()")


def instructions(pack: str) -> str:
    """Return what the operator has written in `prompts.yaml` of a pack; empty where there is nothing."""
    return current().runtime.configuration.prompts.packs.get(pack, "").strip()


def show_snippet(name: str) -> str:
    """Return a snippet for reading: definition, example, and what the example becomes.

    Raises KeyError where there is none of this name.
    """
    return show(name, current().runtime.configuration.settings.snippets[name])
