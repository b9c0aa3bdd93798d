"""Tool definitions in the formats of chat model providers."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from onetool.domain.errors import OneToolError

from .gemini_schema import gemini_schema
from .tool import ToolSpec
from .wire_names import wire_names

Format = Callable[[str, ToolSpec], dict[str, Any]]


class ProviderNotSupported(OneToolError, ValueError):
    """There is no tool format for a provider."""


def to_provider(
    provider: str, specs: Iterable[ToolSpec], *, allowed: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Return tool definitions in a provider's format and in the given order.

    `allowed` restricts them to these names, plain or qualified.

    Raises:
        ProviderNotSupported: There is no format for the provider.
    """
    if provider not in FORMATS:
        raise ProviderNotSupported(f"Provider not supported: {provider}. Supported: {', '.join(FORMATS)}.")
    selected = [spec for spec in specs if allowed is None or not set(allowed).isdisjoint(spec.names)]
    names = wire_names(spec.name for spec in selected)
    return [FORMATS[provider](names[spec.name], spec) for spec in selected]


def _openai(name: str, spec: ToolSpec) -> dict[str, Any]:
    function = {"name": name, "description": spec.description, "parameters": dict(spec.input_schema)}
    return {"type": "function", "function": function}


def _gemini(name: str, spec: ToolSpec) -> dict[str, Any]:
    declaration = {
        "name": name,
        "description": spec.description,
        "parameters": gemini_schema(spec.input_schema),
    }
    return {"functionDeclarations": [declaration]}


def _anthropic(name: str, spec: ToolSpec) -> dict[str, Any]:
    return {"name": name, "description": spec.description, "input_schema": dict(spec.input_schema)}


def _mcp(name: str, spec: ToolSpec) -> dict[str, Any]:
    return {"name": name, "description": spec.description, "inputSchema": dict(spec.input_schema)}


FORMATS: Mapping[str, Format] = MappingProxyType(
    {"openai": _openai, "ollama": _openai, "gemini": _gemini, "anthropic": _anthropic, "mcp": _mcp}
)
