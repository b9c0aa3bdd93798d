"""Sends the tokens of a login to the server they were given for, and to nobody else."""

import httpx2

from .account import Account
from .failure import Down, NotSent
from .grant import Grant
from .renewal import Login

UNAUTHORIZED = 401


class Bearer(httpx2.AsyncBaseTransport):
    """Adds the token to each request; says when a person has to log in."""

    def __init__(self, wire: httpx2.AsyncBaseTransport, account: Account) -> None:
        self._wire, self._server = wire, account.server
        self._login = Login(account)
        self._origin = _origin(httpx2.URL(account.url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's answer, asked once more with new tokens where it did not take the old ones.

        Raises NotSent when it takes none.
        """
        if _origin(request.url) != self._origin:
            return await self._wire.handle_async_request(request)
        try:
            return await self._send(request)
        except Down as error:
            raise NotSent(str(error)) from error

    async def aclose(self) -> None:
        """Close all connections."""
        await self._login.close()
        await self._wire.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        grant = await self._login.current()
        response = await self._send_with(request, grant)
        if response.status_code == UNAUTHORIZED:
            await response.aclose()
            grant = await self._login.other_than(grant)
            if grant is not None:
                response = await self._send_with(request, grant)
        if response.status_code == UNAUTHORIZED:
            await response.aclose()
            raise Down(f"it wants you to log in: onetool servers login {self._server}")
        return response

    async def _send_with(self, request: httpx2.Request, grant: Grant | None) -> httpx2.Response:
        if grant is not None:
            request.headers["Authorization"] = f"Bearer {grant.tokens.access_token}"
        return await self._wire.handle_async_request(request)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
