"""Schemas of the routes for allowed clients."""

from pydantic import Field

from .fields import ResponseModel, Seconds


class ClientGrantResponse(ResponseModel):
    """A client that a person has allowed to act for them."""

    id: str
    clientId: str = Field(description="The URL of the client's document, or an id that it got here.")
    clientName: str = Field(description="As the client calls itself.")
    createdAt: Seconds
    usedAt: Seconds = Field(description="When the client last got a token.")
    expiresAt: Seconds = Field(description="When it must ask again, unless it is used before.")


class ClientGrantList(ResponseModel):
    """The clients that a person has allowed."""

    grants: list[ClientGrantResponse]
