"""Schemas of the routes for secrets."""

from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import ResponseModel

Host = Annotated[str, Field(min_length=1, max_length=255)]


class SecretBody(StrictModel):
    """A new value. It is sealed and never returned."""

    value: Annotated[str, Field(min_length=1, max_length=100_000)]
    hosts: Annotated[list[Host], Field(max_length=100)] | None = Field(
        default=None,
        description="Where it may be sent; an empty list: nowhere. Required for your own secrets in a "
        "workspace. Null: to any host, for makers. Without workspaces, missing: as stored.",
    )
    of: Literal["me", "workspace"] = Field(
        default="me", description="`workspace`: for the calls of all members. Needs the role maker."
    )


class SecretResponse(ResponseModel):
    """A secret, without its value."""

    name: str
    of: Literal["me", "workspace"]
    hosts: list[str] | None = Field(description="Where it may be sent; null: to any host.")
    source: Literal["file", "keyring", "command", "environment", "missing"] | None = Field(
        default=None, description="Where its value is; null in a workspace, which stores it sealed."
    )


class SecretList(ResponseModel):
    """Your secrets and those of the workspace."""

    secrets: list[SecretResponse]
