"""Chat models that OneTool knows by name: where they are served, what opens them, which model answers."""

from collections.abc import Mapping
from dataclasses import dataclass

SCRIPTED = "scripted"
"""Says what a script tells it to: offline, for tests and for trying things out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider, as it is used where the settings say nothing else."""

    base_url: str
    model: str
    keys: tuple[str, ...] = ()
    """Names of its key, among the secrets or in the environment; none: it needs none."""


PROVIDERS: Mapping[str, Known] = {
    "openai": Known(base_url="https://api.openai.com/v1", model="gpt-5.4-mini", keys=("OPENAI_API_KEY",)),
    "anthropic": Known(
        base_url="https://api.anthropic.com", model="claude-sonnet-5-5", keys=("ANTHROPIC_API_KEY",)
    ),
    "gemini": Known(
        base_url="https://generativelanguage.googleapis.com",
        model="gemini-3.8-flash",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "ollama": Known(base_url="http://127.0.0.1:11434", model="llama3.2"),
}
