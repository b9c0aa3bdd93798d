"""The OAuth login of a user with a browser on this machine."""

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from mcp.shared.auth import AuthorizationCodeResult

from onetool.domain.errors import LoginFailed
from onetool.sources.mcp_servers.errors import ServerUnavailable, consume_exception

from .callback_server import CallbackServer
from .config import OAuthConfig
from .login_flow import LoginFlow
from .metadata_client import check_scheme, open_client
from .tokens import StoredTokens

Show = Callable[[str], None]
OpenBrowser = Callable[[str], bool]


async def log_in(config: OAuthConfig, show: Show, open_browser: OpenBrowser) -> None:
    """Show and open the authorization page, wait for the redirect, and store the tokens.

    Raises:
        LoginFailed: The login did not complete. Tokens of an earlier login stay valid.
    """
    try:
        check_scheme(config.url)
        tokens = await _get_tokens(config, show, open_browser)
        async with config.store.exclusive(config.server) as stored:
            await stored.replace(tokens.text)
    except ServerUnavailable as error:
        raise LoginFailed(f"Login to server {config.server!r} failed: {error}.") from None
    except OSError as error:
        reason = f"cannot store the tokens: {error.strerror or error}"
        raise LoginFailed(f"Login to server {config.server!r} failed: {reason}.") from None


async def _get_tokens(config: OAuthConfig, show: Show, open_browser: OpenBrowser) -> StoredTokens:
    async with open_client(config) as client, CallbackServer() as callback:

        async def show_page(url: str) -> None:
            callback.expect(parse_qs(urlsplit(url).query)["state"][-1])
            show(url)
            # Not awaited: some browser commands return only when the browser is closed.
            opening = asyncio.create_task(config.threads.run(open_browser, url))
            # A failure does not matter: the user can open the URL that was shown.
            opening.add_done_callback(consume_exception)
            tasks.add(opening)

        async def wait_for_code() -> AuthorizationCodeResult:
            params = await callback.wait()
            return AuthorizationCodeResult(code=params["code"], state=params["state"], iss=params.get("iss"))

        tasks = set[asyncio.Task[bool]]()
        flow = LoginFlow(config, client, callback.url, show_page=show_page, wait_for_code=wait_for_code)
        return await flow.run()
