"""Tools, pack instructions and snippets that are available to the caller."""

from onetool.catalog.snippets import describe_snippet as render_snippet
from onetool.catalog.snippets import visible_snippets
from onetool.domain.tools.found_tools import FoundTools
from onetool.domain.tools.pack_summary import PackSummary
from onetool.domain.tools.tool import ToolSpec
from onetool.runtime.active_call import current_call

from .calls import wait_for
from .forwarding import in_runtime, waits_in_runtime


@waits_in_runtime
def list_tools(pattern: str = "", *, stored: bool = True) -> list[ToolSpec]:
    """Return all tools that the caller may call, except those for apps.

    Args:
        pattern: Only tools whose names contain this text, ignoring case.
        stored: Whether to include the tools of bundles, which may be very many.
    """
    active = current_call()
    catalog, caller = active.runtime.state.catalog, active.invocation.caller
    specs = catalog.specs(caller, pattern=pattern, in_memory=not stored)
    return [spec for spec in wait_for(active, specs, "list_tools()") if not spec.app_only]


@waits_in_runtime
def list_packs() -> list[PackSummary]:
    """Return the packs with tools that the caller may call."""
    active = current_call()
    packs = active.runtime.state.catalog.pack_summaries(active.invocation.caller)
    return wait_for(active, packs, "list_packs()")


@waits_in_runtime
def find_tools(query: str, limit: int = 5) -> FoundTools:
    """Return the best matches for a query among the tools that the caller may call."""
    active = current_call()
    matches = active.runtime.state.search.find(query, active.invocation.caller, limit)
    return wait_for(active, matches, "find_tools()")


@in_runtime
def list_aliases() -> dict[str, str]:
    """Return the aliases of tools that the caller may call, with their targets."""
    active = current_call()
    state, caller = active.runtime.state, active.invocation.caller
    aliases = state.configuration.settings.aliases
    return {name: tool for name, tool in aliases.items() if state.catalog.policy.may_see(tool, caller)}


@waits_in_runtime
def list_snippets() -> dict[str, str]:
    """Return the descriptions of the snippets, except those that use packs hidden from the caller."""
    active = current_call()
    state, caller = active.runtime.state, active.invocation.caller
    hidden = wait_for(active, state.catalog.hidden_packs(caller), "list_snippets()")
    snippets = visible_snippets(state.configuration.settings.snippets, hidden)
    return {name: snippet.description for name, snippet in snippets.items()}


@in_runtime
def list_servers() -> list[str]:
    """Return the names of the configured MCP servers, except those that are hidden from the caller."""
    active = current_call()
    state, caller = active.runtime.state, active.invocation.caller
    servers = state.configuration.settings.servers
    return [name for name in servers if state.catalog.policy.pack_rule(name, caller) is None]


@waits_in_runtime
def instructions(pack: str) -> str:
    """Return the instructions for a pack, from `prompts.yaml` and from its MCP server, or an empty string."""
    active = current_call()
    state = active.runtime.state
    texts = [state.configuration.prompts.packs.get(pack, "").strip()]
    if pack in state.servers:
        review = wait_for(active, state.servers[pack].instructions(), "instructions()")
        texts.append(f"Instructions of server {pack}:\n{review.text.strip()}" if review.text.strip() else "")
    return "\n\n".join(text for text in texts if text)


@waits_in_runtime
def show_snippet(name: str) -> str:
    """Return a description of a snippet: definition, example and the expanded example.

    Raises:
        KeyError: There is no snippet with this name.
    """
    if name not in list_snippets():
        raise KeyError(name)
    return render_snippet(name, current_call().runtime.state.configuration.settings.snippets[name])
