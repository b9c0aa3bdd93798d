"""What the REST door answers, for its documentation and for clients made from it."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from onetool.domain.bundle import Bundle, Listed
from onetool.domain.usage import Counter

Flag = Annotated[bool, Field(description="Whether it is switched on.")]


class Answer(BaseModel):
    """Answers may grow; clients should not mind."""

    model_config = ConfigDict(extra="allow")


class BundleAnswer(Answer):
    """A bundle."""

    id: str = Field(examples=["0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"])
    slug: str = Field(examples=["weather"])
    displayName: str
    description: str
    isEnabled: Flag
    isBuiltIn: bool
    origin: str = Field(description="bundle, builtin, pack, config or proxy", examples=["bundle"])
    createdAt: str = Field(examples=["2026-01-31T12:00:00.000000Z"])
    modifiedAt: str


class ToolAnswer(Answer):
    """A version of a tool."""

    id: str
    bundleID: str
    bundleSlug: str
    slug: str
    version: str = Field(examples=["1.0.0"])
    name: str = Field(description="How code calls it.", examples=["weather.get_rain"])
    type: str = Field(examples=["http"])
    displayName: str
    description: str
    tags: list[str]
    isEnabled: Flag
    isBuiltIn: bool
    disabledReason: str | None = Field(
        None, description="Why it cannot be called although it is stored as switched on."
    )
    argSchema: dict[str, Any]
    outputSchema: dict[str, Any] | None = None
    callCount: int
    lastCalledAt: str | None = None
    createdAt: str
    modifiedAt: str


class BundlePage(BaseModel):
    """Some bundles, and where the next ones begin."""

    toolBundles: list[BundleAnswer]
    nextPageToken: str | None = None


class ToolPage(BaseModel):
    """Some tools, and where the next ones begin."""

    toolListItems: list[ToolAnswer]
    nextPageToken: str | None = None


class Imported(BaseModel):
    """What an archive or a description has brought: switched off until you look at it."""

    bundle: BundleAnswer
    tools: int
    skipped: list[str] = Field(default_factory=list, description="What was left out, and why.")
    secrets: list[str] = Field(default_factory=list, description="Names to add to secrets.yaml.")
    warnings: list[str] = Field(default_factory=list, description="Look at these before you switch it on.")
    hosts: list[str] = Field(default_factory=list, description="Hosts to add to allowedHosts.")


class CallError(BaseModel):
    """Why a call failed."""

    tool: str
    code: str = Field(examples=["invalid_args"])
    message: str


class CallAnswer(Answer):
    """What came of a call."""

    ok: bool
    value: JsonValue = None
    error: CallError | None = None
    meta: dict[str, Any]


class InvokeBody(BaseModel):
    """Arguments of a call."""

    model_config = ConfigDict(extra="forbid")

    args: dict[str, JsonValue] = Field(default_factory=dict, examples=[{"city": "Oslo"}])


class CallBody(InvokeBody):
    """A call by name."""

    name: str = Field(examples=["time.now"], max_length=300)


def bundle_json(bundle: Bundle) -> dict[str, Any]:
    """A bundle as the API shows it."""
    return {key: value for key, value in bundle.to_json().items() if key != "importedAt"}


def tool_json(
    listed: Listed, counter: Counter | None, disabled_reason: str, last_called: str | None
) -> dict[str, Any]:
    """A tool as the API shows it: what is stored, and what is known beside it."""
    shown = listed.tool.to_json() | {"name": listed.name, "bundleSlug": listed.bundle.slug}
    shown["callCount"] = counter.calls if counter else 0
    if last_called:
        shown["lastCalledAt"] = last_called
    if disabled_reason:
        shown |= {"isEnabled": False, "disabledReason": disabled_reason}
    return shown
