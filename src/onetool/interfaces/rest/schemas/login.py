"""Schemas of the login routes."""

from onetool.domain.bundles.schemas import StrictModel

from .fields import ResponseModel


class LoginBody(StrictModel):
    """The token of the server."""

    token: str


class LoginStatus(ResponseModel):
    """Whether the request has a valid token or cookie."""

    loggedIn: bool
