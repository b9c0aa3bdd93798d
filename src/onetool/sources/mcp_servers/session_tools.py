"""What the tools of a member's own session are, compared with those that the workspace knows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.servers.server_tool import ServerTool

from .listing import redacted_tool
from .pages import read_tools

if TYPE_CHECKING:
    from .session import ServerSession

LIST_CHANGED = "notifications/tools/list_changed"


class SessionTools:
    """The definitions that one session lists. A server may list others for each of its users."""

    def __init__(self, server: str, session: "ServerSession", credentials: CredentialSet) -> None:
        """credentials: what the server may have put into definitions, to be redacted."""
        self._server, self._session, self._credentials = server, session, credentials
        self._tools: Mapping[str, ServerTool] | None = None

    def on_notice(self, notice: Any) -> None:
        """Read the tools again before the next call, if the server reports that they have changed."""
        if notice.method == LIST_CHANGED:
            self._tools = None

    async def read(self) -> Mapping[str, ServerTool]:
        """Return the tools by name.

        Raises:
            ServerUnavailable: The server does not list them.
        """
        if (tools := self._tools) is None:
            listing, redactor = await read_tools(self._session), self._credentials.redactor
            found = [redacted_tool(ServerTool(definition=item), redactor) for item in listing.items]
            tools = self._tools = {tool.name: tool for tool in reversed(found)}
        return tools

    async def check(self, name: str, pin: str) -> None:
        """Check that a tool is the one that the workspace knows: its members have reviewed no other.

        Raises:
            ExecutionError: The session has no such tool, or it is defined differently.
            ServerUnavailable: The server does not list its tools.
        """
        tool = (await self.read()).get(name)
        if tool is None:
            raise ExecutionError(
                Reason.UPSTREAM, f"Server {self._server!r} has no tool {name!r} for your login."
            )
        if not tool.has_pin(pin):
            message = f"Server {self._server!r} defines the tool {name!r} for your login"
            raise ExecutionError(Reason.UPSTREAM, f"{message} in another way than the workspace knows it.")
