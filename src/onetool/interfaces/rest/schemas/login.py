"""Schemas of the login routes."""

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import ResponseModel


class LoginBody(StrictModel):
    """The token of the server."""

    token: str


class LoginStatus(ResponseModel):
    """Whether the request has a valid token or cookie."""

    loggedIn: bool
    withAccount: bool = Field(
        default=False, description="Whether people can log in at an OpenID provider: `/auth/login`."
    )
