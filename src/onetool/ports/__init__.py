"""Every outside thing that the core needs, as a Protocol."""

from .bundles import BundleStore, SwitchStore
from .engines import ChatModel, ChatModels, Meanings, Nearest, Sandbox
from .stores import (
    CounterStore,
    ManifestStore,
    RateLimiter,
    ResultStore,
    SessionStore,
    TokenStore,
    UsageStore,
)
from .tools import ServerSource, ToolSource

__all__ = [
    "BundleStore",
    "ChatModel",
    "ChatModels",
    "CounterStore",
    "ManifestStore",
    "Meanings",
    "Nearest",
    "RateLimiter",
    "ResultStore",
    "Sandbox",
    "ServerSource",
    "SessionStore",
    "SwitchStore",
    "TokenStore",
    "ToolSource",
    "UsageStore",
]
