"""Schemas of the settings routes."""

from typing import Annotated, Any, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import Name, ResponseModel

TypeName = Literal["string", "integer", "number", "boolean", "choice", "list", "map", "any"]


class SettingResponse(ResponseModel):
    """A setting. Secrets in its values are hidden."""

    key: str = Field(examples=["log.level"])
    type: TypeName
    items: TypeName | None = Field(description="Type of the items of a list or the entries of a map.")
    choices: list[str] = Field(description="The allowed values, if there are only some.")
    nullable: bool = Field(description="Whether null is allowed.")
    minimum: float | None
    maximum: float | None
    description: str
    restart: bool = Field(description="Whether a change applies only after a restart.")
    default: Any
    value: Any = Field(description="The active value.")
    origin: Literal["default", "user", "project"] = Field(description="What sets the active value.")
    stored: Any = Field(description="The value in your file, as written there; null if it is not set there.")
    digest: str = Field(description="Hash of the value in your file. Empty: it is not set there.")


class SettingList(ResponseModel):
    """All settings, except those of servers."""

    settings: list[SettingResponse]
    file: str = Field(description="Your settings file, which changes are written to.")
    canEdit: bool = Field(description="Whether settings can be changed here.")


class SettingBody(StrictModel):
    """A new value of a setting."""

    value: Any = Field(description="The value, by the type of the setting.")
    digest: str | None = Field(
        default=None,
        max_length=100,
        description="`digest` of the value that is replaced. Fails if it is another one. Null: not checked.",
    )


class ProviderKeyBody(StrictModel):
    """An API key. It is stored like a secret and never returned."""

    key: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^\S+$")]


class DefaultProviderBody(StrictModel):
    """The default provider of chat models."""

    name: Name = Field(examples=["openai"])
