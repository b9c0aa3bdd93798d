"""`/connections`: the logins of a member, and of the workspace, to MCP servers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, LoginFailed, Reason
from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Right
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.request_rights import request_may
from onetool.interfaces.rest.schemas.connections import (
    ConnectedResponse,
    ConnectionList,
    ConnectionLoginBody,
    ConnectionLoginResponse,
    LoginResultBody,
)
from onetool.runtime.administration import Administration
from onetool.runtime.server_connections import ServerConnection, UnknownServer

PAGE, CALLBACK = "/connections", "/connections/callback"
ServerName = Annotated[str, Path(max_length=200)]
Of = Annotated[Literal["me", "workspace"], Query()]


def connection_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for connections.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])
    _add_logins(routes, current)

    @routes.get(PAGE, response_model=ConnectionList, responses=problem_responses())
    async def list_connections() -> Any:
        """List the servers to which you or the workspace can connect."""
        principal = current_principal()
        own = await current().own_secrets.of(principal.id)
        with _problems():
            found = await current().connections.list(principal, list(own))
        return json_response({"connections": [_connection_json(connection) for connection in found]})

    @routes.post(PAGE + "/{server}/tools", status_code=204, responses=problem_responses(404, 409))
    async def list_tools(server: ServerName) -> Response:
        """List the tools of a server with your login, for all members, who see their names and texts."""
        _check_makes("Lists of tools")
        own = await current().own_secrets.of(current_principal().id)
        with _problems():
            await current().connections.list_tools(server, Caller(interface="rest", own_secrets=own))
        return Response(status_code=204)

    return routes


def _add_logins(routes: APIRouter, current: Callable[[], Administration]) -> None:
    @routes.post(CALLBACK, response_model=ConnectedResponse, responses=problem_responses(409))
    async def come_back(body: LoginResultBody) -> Any:
        """Complete a login with what the provider added to the URL of this path in your browser."""
        with _problems():
            response = body.model_dump(exclude_none=True)
            server = await current().connections.finish(
                current_principal(), response, may_share=request_may(Right.MAKE)
            )
        return json_response({"server": server})

    @routes.post(
        PAGE + "/{server}/login",
        response_model=ConnectionLoginResponse,
        responses=problem_responses(404, 409),
    )
    async def log_in(server: ServerName, body: ConnectionLoginBody) -> Any:
        """Begin a login. Your browser must open its page, and be logged in here."""
        is_shared = _is_shared(body.of)
        with _problems():
            url = await current().connections.begin(server, current_principal(), for_workspace=is_shared)
        return json_response({"url": url})

    @routes.delete(PAGE + "/{server}", status_code=204, responses=problem_responses(404, 409))
    async def log_out(server: ServerName, of: Of = "me") -> Response:
        """Delete a login. Calls cannot use it any more."""
        is_shared = _is_shared(of)
        with _problems():
            is_deleted = await current().connections.delete(
                server, current_principal(), for_workspace=is_shared
            )
        if not is_deleted:
            raise ProblemError(404, f"There is no login to server {server!r}.")
        return Response(status_code=204)


@contextmanager
def _problems() -> Iterator[None]:
    """Turn what goes wrong into a response."""
    try:
        yield
    except UnknownServer as error:
        raise ProblemError(404, str(error)) from None
    except ExecutionError as error:
        raise ProblemError(503 if error.reason is Reason.UNAVAILABLE else 409, str(error)) from None
    except LoginFailed as error:
        raise ProblemError(409, str(error)) from None


def _is_shared(of: Literal["me", "workspace"]) -> bool:
    if of == "workspace":
        _check_makes("Logins of the workspace")
    return of == "workspace"


def _check_makes(what: str) -> None:
    if not request_may(Right.MAKE):
        raise ProblemError(403, f"{what} are for the roles owner and maker.")


def _connection_json(connection: ServerConnection) -> dict[str, Any]:
    return {
        "server": connection.server,
        "credentials": connection.credentials,
        "canLogIn": connection.can_log_in,
        "mine": connection.is_own,
        "workspace": connection.is_shared,
        "secrets": list(connection.secrets),
        "missingSecrets": list(connection.missing),
        "toolsKnown": connection.is_listed,
    }
