"""The pages on which members of a hosted OneTool manage their credentials."""

from typing import NamedTuple
from urllib.parse import quote


class MemberPages(NamedTuple):
    """Makes links for messages. Without a URL, there are none."""

    workspace_url: str = ""
    """The URL of the workspace in the web UI, without a slash at the end."""

    def login(self, server: str) -> str:
        """Return the page on which to log in to a server."""
        return f"{self.workspace_url}/connections?server={quote(server)}" if self.workspace_url else ""

    @property
    def secrets(self) -> str:
        """The page on which to write secrets of one's own."""
        return f"{self.workspace_url}/secrets" if self.workspace_url else ""

    @property
    def callback(self) -> str:
        """Where providers send browsers after a login."""
        return f"{self.workspace_url}/connections/callback" if self.workspace_url else ""


NO_PAGES = MemberPages()
