"""Protocols of everything outside the core: sources, stores, the sandbox, chat models, embeddings."""

from .bundles import BundleStore, ToggleStore
from .chat_models import ChatModel, ChatModels
from .embeddings import Embedder, EmbeddingIndex
from .sandbox import Sandbox
from .sources import LOCAL, READY, ServerSource, SourceCapabilities, SourceStatus, ToolSource
from .stores import (
    CounterStore,
    LockedTokens,
    ManifestStore,
    RateLimiter,
    ResultStore,
    SessionStore,
    TokenStore,
    UsageStore,
)

__all__ = [
    "LOCAL",
    "READY",
    "BundleStore",
    "ChatModel",
    "ChatModels",
    "CounterStore",
    "Embedder",
    "EmbeddingIndex",
    "LockedTokens",
    "ManifestStore",
    "RateLimiter",
    "ResultStore",
    "Sandbox",
    "ServerSource",
    "SessionStore",
    "SourceCapabilities",
    "SourceStatus",
    "ToggleStore",
    "TokenStore",
    "ToolSource",
    "UsageStore",
]
