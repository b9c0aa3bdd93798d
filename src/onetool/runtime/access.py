"""Who may call which tool: the kinds of callers, and what the policy decides for each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.principal import current_principal
from onetool.domain.policy.rule import Decision
from onetool.settings.schema import Settings

from .state import State


class Access(NamedTuple):
    """What a kind of caller may do with a tool."""

    words: str
    """Who calls: you, a chat model, MCP clients, or those with a profile."""
    caller: Caller
    decision: Decision


def callers(settings: Settings) -> Mapping[str, Caller]:
    """Return a caller of each kind, by the words for it."""
    mcp = Effect[settings.approval.mcp.upper()]
    profiles = {
        f"MCP clients with profile {name}": Caller(
            interface="mcp", principal=current_principal().with_profile(name), default_effect=mcp
        )
        for name in settings.profiles
    }
    return {
        "you: CLI, REST, Python, web UI": Caller(interface="cli", default_effect=Effect.ALLOW),
        "models in onetool ask and the chat": Caller(interface="ask"),
        "MCP clients": Caller(interface="mcp", default_effect=mcp),
        **profiles,
    }


async def explain(state: State, tool: str) -> list[Access]:
    """Return what each kind of caller may do with a tool; empty if there is no such tool."""
    found = [
        (words, caller, await state.catalog.explain(tool, caller))
        for words, caller in callers(state.configuration.settings).items()
    ]
    return [Access(words, caller, decision) for words, caller, decision in found if decision is not None]


def access_json(access: Access) -> dict[str, Any]:
    """Return what a kind of caller may do as JSON."""
    rules = [
        {"effect": str(rule.effect), "origin": rule.origin, "value": rule.value}
        for rule in access.decision.rules
    ]
    return {
        "caller": access.words,
        "interface": access.caller.interface,
        "profile": access.caller.profile,
        "effect": str(access.decision.effect),
        "rules": rules,
    }
