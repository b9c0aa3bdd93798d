"""Protocols of everything outside the core: sources, stores, the sandbox, chat models, embeddings."""

from .activity import ActivityStore
from .api_keys import ApiKeyStore
from .audit import AuditLog
from .bundles import BundleStore, ToggleStore
from .chat_models import ChatModel, ChatModels
from .chats import SessionApprovalStore, SessionLeases
from .client_grants import ClientGrantStore
from .client_sessions import ClientSessionStore
from .contents import ContentSource
from .embeddings import Embedder, EmbeddingIndex
from .invitations import InvitationStore
from .jobs import JobQueue, JobStore, Messages
from .members import MemberStore
from .reload import ReloadSignal
from .sandbox import Sandbox
from .secrets import OwnSecrets, WorkspaceSecrets
from .server_logins import BegunLoginStore, BegunServerLogin, ServerLoginPage, ServerLogins
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
    CallLeases,
    LockedTokens,
    ManifestStore,
    MemberTokens,
    RateLimiter,
    ResultStore,
    SessionStore,
    TokenStore,
)

__all__ = [
    "LOCAL",
    "READY",
    "ActivityStore",
    "ApiKeyStore",
    "AuditLog",
    "BegunLoginStore",
    "BegunServerLogin",
    "BundleStore",
    "CallLeases",
    "ChatModel",
    "ChatModels",
    "ClientGrantStore",
    "ClientSessionStore",
    "ContentSource",
    "Embedder",
    "EmbeddingIndex",
    "InvitationStore",
    "JobQueue",
    "JobStore",
    "LockedTokens",
    "ManifestStore",
    "MemberStore",
    "MemberTokens",
    "Messages",
    "OwnSecrets",
    "RateLimiter",
    "ReloadSignal",
    "ResultStore",
    "Sandbox",
    "SearchableSource",
    "ServerLoginPage",
    "ServerLogins",
    "ServerSource",
    "SessionApprovalStore",
    "SessionLeases",
    "SessionStore",
    "SourceCapabilities",
    "SourceStatus",
    "ToggleStore",
    "TokenStore",
    "ToolSource",
    "WorkspaceSecrets",
]
