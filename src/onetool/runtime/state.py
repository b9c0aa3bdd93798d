"""State: everything that a reload replaces, as one immutable object."""

from dataclasses import dataclass
from pathlib import Path

from onetool.bundles.bundles import Bundles
from onetool.bundles.transfer import BundleTransfer
from onetool.catalog.catalog import Catalog
from onetool.catalog.contents import CatalogContents
from onetool.catalog.mcp_servers import McpServers
from onetool.catalog.tool_search import CatalogSearch
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.redaction import Redactor
from onetool.network.client import HttpClients
from onetool.pipeline.code_runner import CodeRunner
from onetool.pipeline.pipeline import Pipeline
from onetool.ports import ChatModels, ResultStore
from onetool.settings.configuration import Configuration

from .model_output import ModelOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one version of the configuration consists of.

    Read `runtime.state` once per request: a call in progress keeps the state it started with.
    """

    configuration: Configuration
    catalog: Catalog
    search: CatalogSearch
    pipeline: Pipeline
    code_runner: CodeRunner
    model_output: ModelOutput
    results: ResultStore
    bundles: Bundles
    transfer: BundleTransfer
    http: HttpClients
    servers: McpServers
    contents: CatalogContents
    chat_models: ChatModels
    credentials: CredentialSet
    directories: tuple[Path, ...]
    """The directories in which files are stored; none for a runtime in memory."""

    @property
    def redactor(self) -> Redactor:
        """Masks the configured secrets and the tokens that were issued to OneTool."""
        return self.credentials.redactor
