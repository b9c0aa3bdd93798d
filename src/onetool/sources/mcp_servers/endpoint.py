"""Where the requests to a server go, and the check of what it is sent."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from onetool.domain.calls.caller import Caller
from onetool.domain.http.outgoing_check import OutgoingCheck
from onetool.domain.http.urls import InvalidUrl, parse_url
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.text.json_text import encode
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.sources.outgoing_content import check_content


class ServerEndpoint:
    """The URL of a server, if it has one."""

    def __init__(self, settings: ServerSettings, secrets: Secrets, digest: str) -> None:
        """digest: of the URL, for messages; empty if there is none."""
        self._url, self._secrets, self.digest = settings.url, secrets, digest

    async def check(self, params: Mapping[str, Any], caller: Caller | None) -> None:
        """Check that what a caller sends contains no secret that the server may not have.

        A program is not checked: secrets are bound to hosts, and it gets those of its settings.

        Raises:
            ExecutionError: It contains one.
        """
        if self._url is None:
            return
        own = caller.own_secrets.values() if caller else ()
        credentials = (caller.credentials if caller else None) or CredentialSet()
        check = OutgoingCheck(self._secrets.values(), own, credentials, self._secrets.place)
        with suppress(InvalidUrl):  # then no session is opened
            url = parse_url(self._url)
            await check_content(check, url, lambda: encode(params).decode(), "The request to the server")
