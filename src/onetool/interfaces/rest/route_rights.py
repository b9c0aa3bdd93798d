"""Which right a request to a workspace needs."""

import re

from onetool.domain.identity.principal import Principal
from onetool.domain.identity.roles import Right, roles_with
from onetool.domain.policy.rights import Rights

from .auth.middleware import PROFILE_PATHS, SAFE_METHODS, Rejection

ME_PATH, MCP_PATH = "/me", "/mcp"
CALLS = re.compile(
    r"/mcp(/.*)?|/tools/call|/run|/code/(steps|literals|parameters)|/chat|/complete|/resources(/.*)?|/prompts(/.*)?"
    r"|/jobs(/.*)?|/results/.*|/sessions(/.*)?|/keys(/.*)?|/secrets(/.*)?|/connections(/.*)?|/activity(/.*)?"
    r"|/oauth/grants(/.*)?"
)
"""Calls, what belongs to them, and a member's own API keys, secrets, logins and allowed clients."""
INVOKE = re.compile(r"/tools/bundles/.*/invoke")
"""Calls, if they are posted. Otherwise, `invoke` is the name of a version."""
CHANGES = re.compile(r"/tools/bundles/.*|/tools/import(/.*)?|/servers/.*|/registry/.*")
READS = re.compile(
    r"/tools(/.*)?|/servers(/.*)?|/health|/metrics|/signatures|/usage|/access(/.*)?|/providers|/openapi\.json"
)
AUDIT = re.compile(r"/audit(/.*)?")
ACTIVITY = re.compile(r"/activity(/.*)?")


def needed_right(method: str, path: str) -> Right:
    """Return the right that a request needs. What is not known here is for owners."""
    if AUDIT.fullmatch(path):
        return Right.AUDIT
    if CALLS.fullmatch(path) or (method == "POST" and INVOKE.fullmatch(path)):
        return Right.CALL
    if method in SAFE_METHODS:
        return Right.READ if READS.fullmatch(path) else Right.MANAGE
    return Right.MAKE if CHANGES.fullmatch(path) else Right.MANAGE


def check_rights(method: str, path: str, principal: Principal, rights: Rights) -> Rejection | None:
    """Return why a request is refused; None if it is not."""
    if not rights.memberships:
        return 403, f"{principal.id!r} is not a member of the workspace. Ask an owner of it."
    if path == ME_PATH:
        return None
    if principal.patterns and not (is_mcp(path) or PROFILE_PATHS.fullmatch(path)):
        limits = ", ".join(principal.patterns)
        return 403, f"The API key is only for calls of {limits}: /mcp, /tools/call and /run."
    right = needed_right(method, path)
    if rights.may(right) or (ACTIVITY.fullmatch(path) and rights.may(Right.SEE_ALL_CALLS)):
        return None
    needed = " or ".join(roles_with(right))
    roles = ", ".join(sorted({str(item.role) for item in rights.memberships}))
    return 403, f"{method} {path[:200]} needs the role {needed}. Yours: {roles}."


def is_mcp(path: str) -> bool:
    """Return whether a path in a workspace is for MCP clients."""
    return path == MCP_PATH or path.startswith(f"{MCP_PATH}/")
