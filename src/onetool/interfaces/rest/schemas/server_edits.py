"""Schemas of the routes that change servers."""

from typing import Annotated, Any, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel
from onetool.domain.servers.client_config import CLIENTS

from .fields import Name, ResponseModel

ServerMap = Annotated[
    dict[str, Any],
    Field(
        description="Settings of a server, as under `servers.NAME` in onetool.yaml.",
        examples=[{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}],
    ),
]


class ImportBody(StrictModel):
    """Servers to import: a text, or the settings of an MCP client on this machine."""

    text: Annotated[str, Field(max_length=1_000_000)] | None = Field(
        None, description="Settings of an MCP client as JSON, a command line, or a URL."
    )
    client: Literal[CLIENTS] | None = Field(None, description="MCP client of the user.")  # type: ignore[valid-type]
    names: dict[Name, Name] = Field({}, description="New names, by the names in the text or client.")


class ConfirmedImportBody(ImportBody):
    """An import that the user has reviewed."""

    digest: str = Field(description="`digest` of the preview. Fails if something else would be written.")
    only: Annotated[list[Name], Field(max_length=10_000)] | None = Field(
        None, description="Names of the servers to import, in the text or client. Default: all new ones."
    )
    move: bool = Field(False, description="Replace them with OneTool in the settings of the client.")


class PlannedServerResponse(ResponseModel):
    """What an import would do with one server."""

    sourceName: str = Field(description="Name in the text or client.")
    status: Literal["new", "exists", "differs", "unsupported"]
    name: str = Field(description="Name of the server and its pack in OneTool.")
    settings: ServerMap
    secrets: list[str] = Field(description="Names under which its secrets would be stored.")
    notes: list[str] = Field(description="What the command may access, and secrets that stay readable.")
    problem: str = Field(description="Why it cannot be imported.")


class ImportPreview(ResponseModel):
    """What an import would write."""

    servers: list[PlannedServerResponse]
    digest: str


class ImportedServers(ResponseModel):
    """The names of the servers that were added."""

    names: list[str]
    note: str = Field(description="What changed in the settings of the client.")


class ClientResponse(ResponseModel):
    """An MCP client with settings on this machine."""

    name: str = Field(examples=["cursor"])
    title: str = Field(examples=["Cursor"])
    file: str


class ClientList(ResponseModel):
    """The MCP clients of the user whose servers can be imported."""

    clients: list[ClientResponse]


class ServerSettingsResponse(ResponseModel):
    """The settings of a server. Secrets are hidden."""

    name: str
    settings: ServerMap
    digest: str = Field(description="Hash of the settings, for a change.")
    file: str = Field(description="File with the settings.")
    canEdit: bool
    reason: str = Field(description="Why the settings cannot be changed here.")


class ServerSettingsBody(StrictModel):
    """New settings of a server. Values that a response has hidden keep their present value."""

    settings: ServerMap
    digest: str = Field("", description="`digest` of the settings that were read. Empty for a new server.")


class StoredSettings(ResponseModel):
    """The result of a change."""

    secrets: list[str] = Field(description="Names of the secrets that were moved to secrets.yaml.")


class ServerSwitch(StrictModel):
    """Whether a server is used."""

    enabled: bool
