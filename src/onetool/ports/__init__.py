"""Protocols of everything outside the core: sources, stores, the sandbox, chat models, embeddings."""

from .activity import ActivityStore
from .bundles import BundleStore, ToggleStore
from .chat_models import ChatModel, ChatModels
from .client_sessions import ClientSessionStore
from .contents import ContentSource
from .embeddings import Embedder, EmbeddingIndex
from .jobs import JobStore, Messages
from .reload import ReloadSignal
from .sandbox import Sandbox
from .sources import (
    LOCAL,
    READY,
    SearchableSource,
    ServerSource,
    SourceCapabilities,
    SourceStatus,
    ToolSource,
)
from .stores import (
    LockedTokens,
    ManifestStore,
    RateLimiter,
    ResultStore,
    SessionStore,
    TokenStore,
)

__all__ = [
    "LOCAL",
    "READY",
    "ActivityStore",
    "BundleStore",
    "ChatModel",
    "ChatModels",
    "ClientSessionStore",
    "ContentSource",
    "Embedder",
    "EmbeddingIndex",
    "JobStore",
    "LockedTokens",
    "ManifestStore",
    "Messages",
    "RateLimiter",
    "ReloadSignal",
    "ResultStore",
    "Sandbox",
    "SearchableSource",
    "ServerSource",
    "SessionStore",
    "SourceCapabilities",
    "SourceStatus",
    "ToggleStore",
    "TokenStore",
    "ToolSource",
]
