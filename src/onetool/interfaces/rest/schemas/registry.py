"""Schemas of the routes for servers of the MCP registry."""

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from onetool.domain.bundles.schemas import StrictModel
from onetool.domain.servers.registry_entry import LATEST

from .fields import Name, ResponseModel

MAX_VALUES, MAX_TEXTS, MAX_LENGTH = 200, 100, 100_000
TEXT_SCHEMA = {"type": "string", "maxLength": MAX_LENGTH}
VALUES_SCHEMA = {
    "type": "object",
    "maxProperties": MAX_VALUES,
    "additionalProperties": {
        "anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA, "maxItems": MAX_TEXTS}]
    },
}


def _check_values(value: Any) -> dict[str, list[str]]:
    """Return each value as a list, without empty texts. An error never quotes a value: it may be a secret."""
    if not isinstance(value, dict) or len(value) > MAX_VALUES:
        raise ValueError(f"is not an object with at most {MAX_VALUES} names")
    values = {str(name): item if isinstance(item, list) else [item] for name, item in value.items()}
    for name, texts in values.items():
        if len(texts) > MAX_TEXTS or not all(_is_text(text) for text in texts):
            raise ValueError(
                f"the value of {name!r:.80} is neither a text of at most {MAX_LENGTH:,} characters "
                f"nor a list of at most {MAX_TEXTS}"
            )
    return {name: kept for name, texts in values.items() if (kept := [text for text in texts if text])}


def _is_text(value: Any) -> bool:
    is_short = isinstance(value, str) and len(value) <= MAX_LENGTH
    return is_short and not any("\ud800" <= char <= "\udfff" for char in value)


Values = Annotated[
    dict[str, list[str]],
    PlainValidator(_check_values),
    WithJsonSchema(VALUES_SCHEMA),
    Field(repr=False, description="Values by input: a text, or a list if the input accepts several."),
]
PlanDigest = Annotated[str, Field(max_length=64, description="`planDigest` of the plan that was reviewed.")]


class PlanBody(StrictModel):
    """A server of the registry, and the values for its inputs."""

    name: str = Field(min_length=1, max_length=200, examples=["io.github.owner/server"])
    version: str = Field(LATEST, min_length=1, max_length=255)
    kind: Literal["npm", "pypi", "oci", "remote"] | None = Field(
        None, description="Kind of package, if the server has several."
    )
    pack: Annotated[str, Field(max_length=300)] | None = Field(
        None, alias="as", description="Name of the server and its pack. Default: from the name."
    )
    values: Values = Field(default_factory=dict)
    paths: list[Annotated[str, Field(max_length=4_096)]] = Field(
        default_factory=list,
        max_length=MAX_TEXTS,
        description="Values of the inputs that are paths, in order.",
    )


class InstallBody(PlanBody):
    """A reviewed plan."""

    planDigest: PlanDigest


class UpdatePlanBody(StrictModel):
    """Values for inputs that the installed version did not have."""

    values: Values = Field(default_factory=dict)


class UpdateBody(UpdatePlanBody):
    """A reviewed update."""

    planDigest: PlanDigest


class OfflineResponse(ResponseModel):
    """A stored answer was used, because the registry cannot be reached."""

    problem: str
    ageSeconds: float


class RegistryEntryResponse(ResponseModel):
    """A server of the registry. All texts were written by its publisher."""

    name: str = Field(examples=["io.github.owner/server"])
    version: str
    publisher: str = Field(description="Namespace, whose owner the registry has verified.")
    kinds: list[str]
    description: str
    repository: str = Field(description="Where the source is said to be: any text.")
    status: str = Field(examples=["active"])
    statusMessage: str
    isInstallable: bool
    problem: str = Field(description="Why it cannot be installed; otherwise empty.")


class RegistrySearchResponse(ResponseModel):
    """Servers that match a search."""

    servers: list[RegistryEntryResponse]
    isComplete: bool = Field(description="False if the registry has more.")
    skipped: int = Field(description="Number of invalid entries.")
    offline: OfflineResponse | None


class RegistryInputResponse(ResponseModel):
    """A value that a server wants."""

    name: str
    kind: Literal["secret", "path", "value"]
    isRequired: bool
    isRepeated: bool = Field(description="Whether it accepts several values.")
    isKnown: bool = Field(description="Whether the installed version has a value.")
    default: str
    choices: list[str]
    description: str


class InputProblemResponse(ResponseModel):
    """Why an input has no usable value."""

    name: str = Field(description="Name of the input; empty if the problem is not about one input.")
    isMissing: bool
    reason: str


class PathGrantResponse(ResponseModel):
    """A path that the sandbox lets the server access."""

    path: str
    canWrite: bool


class RegistryPlanResponse(ResponseModel):
    """What would be installed, and what is missing."""

    server: RegistryEntryResponse
    registry: str = Field(description="URL of the registry.")
    name: Name = Field(description="Name of the server and its pack in the settings.")
    nameProblem: str = Field(description="Why the name cannot be used; otherwise empty.")
    kind: Literal["npm", "pypi", "oci", "remote"]
    package: str = Field(description="Name of the package, or the URL.")
    packageVersion: str
    digests: dict[str, str] = Field(description="Digests of the package by file.")
    digestProblem: str = Field(description="Why there are none; otherwise empty.")
    inputs: list[RegistryInputResponse]
    problems: list[InputProblemResponse]
    isComplete: bool
    settings: dict[str, Any] | None = Field(
        description="What would be written, with references to secrets; null while something is missing."
    )
    command: str = Field(description="Command as a shell would read it, or the URL; empty while incomplete.")
    grants: list[PathGrantResponse]
    isSandboxed: bool = Field(description="False if the settings turn the sandbox of the server off.")
    planDigest: str = Field(description="SHA-256 of what would be written; empty while incomplete.")
    offline: OfflineResponse | None


class InstalledResponse(ResponseModel):
    """The name of a server in the settings."""

    name: str


class UpdateResponse(ResponseModel):
    """An installed server and the latest version in the registry."""

    name: str
    installed: str = Field(description="Installed version.")
    latest: str = Field(description="Latest version in the registry.")
    isNewer: bool
    command: str = Field(description="Installed command as a shell would read it, or the URL.")
    remark: str = Field(description="What is unusual about the installed package; otherwise empty.")
    plan: RegistryPlanResponse | None = Field(description="The update; null if there is none.")
