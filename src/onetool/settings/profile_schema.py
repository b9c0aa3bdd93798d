"""The settings of profiles: named parts of the tools, for clients that need no more."""

from dataclasses import dataclass
from typing import Literal

from .validation import Names, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileApproval:
    """Approval of calls with this profile. Whatever is more restrictive applies, this or `approval`."""

    mode: Literal["allow", "ask", "deny"] = setting(
        "allow",
        "What happens to tools that are not read-only and match neither `allow` nor `deny`: `allow` leaves "
        "it to the other settings, `ask` asks the user, `deny` rejects the call.",
    )
    allow: Names = setting((), "Name patterns of tools to which `mode` does not apply.")
    deny: Names = setting((), "Name patterns of tools that never run. Takes precedence over `allow`.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSettings:
    """A named part of the tools. It only restricts what the other settings allow."""

    packs: Names | None = setting(
        None,
        "Name patterns of the packs that are available, besides `ot`. Default: all packs, or none if "
        "`servers` is set.",
    )
    servers: Names | None = setting(
        None,
        "Name patterns of the MCP servers that are available. Default: all servers, or none if `packs` is "
        "set.",
    )
    exclude: Names = setting((), "Name patterns of tools to hide, such as `github.delete_*`.")
    expose: Literal["run", "search", "all"] | None = setting(
        None, "Tools that MCP clients with this profile see. Default: the `expose` setting."
    )
    approval: ProfileApproval = setting(ProfileApproval, "Approval of calls with this profile.")
    roots: Names | None = setting(
        None,
        "Directories that file tools can access with this profile, as far as `fs.roots` allows them. "
        "Default: those of `fs.roots`.",
    )
