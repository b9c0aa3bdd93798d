"""Schemas of the provider routes."""

from typing import Literal

from pydantic import Field

from .fields import ResponseModel


class ProviderResponse(ResponseModel):
    """A provider of chat models."""

    name: str = Field(examples=["openai"])
    model: str = Field(description="Default model.")
    key: Literal["secrets.yaml", "environment", "missing", "not needed"] = Field(
        description="Location of the API key."
    )


class ProviderList(ResponseModel):
    """All providers of chat models, and the default provider."""

    providers: list[ProviderResponse]
    default: str | None
