"""Schemas of the routes for connections to servers."""

from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import ResponseModel

Parameter = Annotated[str, Field(max_length=8_000)]


class ConnectionResponse(ResponseModel):
    """A server that is called with credentials of members, or with a login of the workspace."""

    server: str
    credentials: Literal["workspace", "person", "either"] = Field(
        description="Whose credentials calls use. `either`: yours, or else those of the workspace."
    )
    canLogIn: bool = Field(description="Whether the server has a login. Otherwise, secrets are sent to it.")
    mine: bool = Field(description="Whether you have logged in, or have all secrets.")
    workspace: bool = Field(description="Whether the workspace has logged in.")
    secrets: list[str] = Field(description="Names of your secrets that are sent to the server.")
    missingSecrets: list[str] = Field(description="Those of them that you do not have.")
    toolsKnown: bool = Field(description="Whether the tools of the server were listed.")


class ConnectionList(ResponseModel):
    """Servers to which you or the workspace can connect."""

    connections: list[ConnectionResponse]


class ConnectionLoginBody(StrictModel):
    """Whose login it will be."""

    of: Literal["me", "workspace"] = Field(
        default="me", description="`workspace`: for the calls of all members. Needs the role maker."
    )


class ConnectionLoginResponse(ResponseModel):
    """A login that has begun."""

    url: str = Field(
        description="The page of the provider, to open in the browser in which you are logged in."
    )


class LoginResultBody(StrictModel):
    """The parameters with which the provider sent the browser back."""

    state: Parameter
    code: Parameter | None = None
    iss: Parameter | None = None
    error: Parameter | None = None
    error_description: Parameter | None = None


class ConnectedResponse(ResponseModel):
    """A login that is complete."""

    server: str
