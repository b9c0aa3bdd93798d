"""`onetool serve --hosted` as a process with a workspace, and fixtures for tests of both kinds of servers.

A test with the fixture `server` or `new_server` runs once with each kind of server. NOT_HOSTED lists the
tests whose statement cannot apply to a workspace.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from onetool.bootstrap.hosted_admin import WorkspaceContents, new_key, open_contents, workspace_admin
from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.identity.principal import Principal, acting_as
from onetool.domain.identity.roles import Role
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from support.paths import PROJECT
from support.postgres import ClusterUrls, new_clusters
from support.rest_process import SECRETS, SETTINGS, RestProcess, new_id

OWNER = "anna"
"""On whose behalf the API keys act."""
STORE_FILES = "reads the files of the store"
NOT_HOSTED = {
    "tests/spec/test_bundle_rows.py": {
        "test_everything_except_http_calls_works_without_a_network": "a hosted server needs its database",
        "test_tool_file_that_is_copied_into_a_running_server_is_available": STORE_FILES,
        "test_deleted_search_index_is_rebuilt": "the search index is not a file",
        "test_bundles_and_tools_are_stored_as_json_files_named_by_id": STORE_FILES,
    },
    "tests/spec/test_bundle_invoke_rows.py": {
        "test_call_does_not_wait_for_locked_counters": "locks the files of the store",
    },
}
"""Why a test does not apply to hosted mode, by file and name."""
T = TypeVar("T")


class Installation:
    """A database with workspaces, and the keys that seal their secrets."""

    def __init__(self, clusters: ClusterUrls) -> None:
        self.clusters, self.url, self.keys = clusters, clusters.home, new_key("tests")
        self.database = Database(clusters.rows)
        self.home = Database(clusters.home) if clusters.others else self.database

    def close(self) -> None:
        """Close the connections to the databases."""
        self.database.close()
        self.home.close()

    def create_workspace(self, settings: str = SETTINGS) -> "TestedWorkspace":
        """Create a workspace with settings and an API key."""
        workspace = TestedWorkspace(self, f"w-{new_id()}")
        workspace.write_settings(settings)
        return workspace


class TestedWorkspace:
    """A workspace, as its operator sees it."""

    __test__ = False

    def __init__(self, installation: Installation, slug: str) -> None:
        self.slug, self._installation = slug, installation
        clusters = installation.clusters
        admin = workspace_admin(clusters.home, installation.keys, clusters.others)
        created = admin.create(slug, cluster=clusters.cluster)
        self.stored = WorkspaceDatabase(installation.database, created.id, home=installation.home)
        self.key = self.new_key(OWNER)

    def new_key(self, owner: str) -> str:
        """Create an API key that acts for an owner of the workspace."""
        lifetime = timedelta(days=1)
        created = self._change(
            lambda contents: contents.create_key(owner, "tests", lifetime, role=Role.OWNER)
        )
        return created.text

    @property
    def path(self) -> str:
        """Where its API is on a server."""
        return f"/w/{self.slug}"

    @property
    def headers(self) -> dict[str, str]:
        """What requests to its API need."""
        return {"Authorization": f"Bearer {self.key}"}

    def write_settings(self, text: str) -> None:
        """Replace the settings."""
        document = yaml.safe_load(text) or {}
        self._change(lambda contents: contents.replace_settings(document, "operator"))

    def put_secret(self, name: str, value: str, hosts: Sequence[str] | None) -> None:
        """Store a secret."""
        self._change(lambda contents: contents.secrets.put(name, value, hosts))

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return rows of the workspace; the first value of the query is its id."""
        with self.stored.reading() as cursor:
            cursor.execute(query, (self.stored.workspace, *values))  # type: ignore[arg-type]
            return cursor.fetchall()

    async def records(self, filter: ActivityFilter) -> Sequence[CallRecord]:
        """Return the calls of the owner of the key, newest first."""
        threads = Threads()
        try:
            with acting_as(Principal(OWNER)):
                return (await PostgresActivity(self.stored, threads).page(filter, None, 1_000)).items
        finally:
            threads.close()

    def _change(self, action: Callable[[WorkspaceContents], Awaitable[T]]) -> T:
        async def run() -> T:
            clusters, keys = self._installation.clusters, self._installation.keys
            async with open_contents(clusters.home, keys, self.slug, clusters.others) as contents:
                return await action(contents)

        return asyncio.run(run())


class HostedProcess(RestProcess):
    """`onetool serve --hosted`, and requests to one of its workspaces."""

    command = ("serve", "--hosted", "--port", "0")
    is_measured = True
    """Much of hosted mode runs in its processes only."""

    def __init__(
        self,
        root: Path,
        *options: str,
        installation: Installation,
        workspace: TestedWorkspace | None = None,
        **fields: Any,
    ) -> None:
        """workspace: by default, a new one."""
        self.workspace = workspace or installation.create_workspace()
        self.path, self.token = self.workspace.path, self.workspace.key
        variables = {**installation.clusters.variables, "ONETOOL_KEYS": installation.keys}
        super().__init__(root, *options, **fields | variables)

    def write_settings(self, text: str) -> None:
        self.workspace.write_settings(text)

    def write_secrets(self) -> None:
        for name, secret in yaml.safe_load(SECRETS).items():
            entry = secret if isinstance(secret, dict) else {"value": secret, "hosts": None}
            self.workspace.put_secret(name, entry["value"], entry["hosts"])

    def is_stored(self, bundle_id: str) -> bool:
        return bool(self._bundle_rows(bundle_id))

    def read_bundle_record(self, bundle_id: str) -> dict[str, Any]:
        ((body,),) = self._bundle_rows(bundle_id)
        return json.loads(body)

    def replace_bundle_record(self, record: dict[str, Any]) -> None:
        with self.workspace.stored.writing() as cursor:
            change = "update bundles set body = %s where workspace_id = %s and id = %s"
            cursor.execute(change, (json.dumps(record), self.workspace.stored.workspace, record["id"]))

    def stored_tools(self, bundle_id: str) -> dict[str, str]:
        query = "select id, body from tools where workspace_id = %s and bundle_id = %s"
        return dict(self.workspace.rows(query, bundle_id))

    def _bundle_rows(self, bundle_id: str) -> list[Any]:
        return self.workspace.rows("select body from bundles where workspace_id = %s and id = %s", bundle_id)


class WorkspaceView(HostedProcess):
    """Requests to another workspace of a hosted process, which runs independently."""

    def __init__(self, process: HostedProcess, workspace: TestedWorkspace) -> None:
        self.process, self.origin, self.config, self.errors = (
            process.process,
            process.origin,
            process.config,
            process.errors,
        )
        self.workspace, self.path, self.token = workspace, workspace.path, workspace.key
        self.url = f"{self.origin}{self.path}"
        self.write_secrets()

    def __enter__(self) -> "WorkspaceView":
        self.client = self.new_client()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


@pytest.fixture(scope="session")
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """Return a database for the hosted servers of one worker."""
    with new_clusters(request.config) as clusters:
        installation = Installation(clusters)
        yield installation
        installation.close()


@pytest.fixture(scope="session")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestProcess]:
    """Return a server that the tests of one worker share; each test uses bundles of its own."""
    with RestProcess(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def hosted_server(
    tmp_path_factory: pytest.TempPathFactory, installation: Installation
) -> Iterator[HostedProcess]:
    """Return a hosted server that the tests of one worker share."""
    with HostedProcess(tmp_path_factory.mktemp("hosted"), installation=installation) as server:
        yield server


@pytest.fixture(scope="session")
def open_hosted(request: pytest.FixtureRequest) -> Iterator[Callable[[str], WorkspaceView]]:
    """Return a function that creates a workspace with settings. The server starts when it is needed."""
    with ExitStack() as stack:

        def create(settings: str) -> WorkspaceView:
            server, installation = map(request.getfixturevalue, ("hosted_server", "installation"))
            return stack.enter_context(WorkspaceView(server, installation.create_workspace(settings)))

        yield create


@pytest.fixture(params=["local", "hosted"])
def server_kind(request: pytest.FixtureRequest) -> str:
    """Return the kind of server with which a test runs; skip a test that does not apply to it."""
    file = request.path.relative_to(PROJECT).as_posix()
    reason = NOT_HOSTED.get(file, {}).get(request.function.__name__)
    if request.param == "hosted" and reason:
        pytest.skip(reason)
    return request.param


@pytest.fixture
def server(server_kind: str, request: pytest.FixtureRequest) -> RestProcess:
    """Return the shared server of each kind."""
    return request.getfixturevalue(f"{server_kind}_server")


@pytest.fixture
def new_server(server_kind: str, request: pytest.FixtureRequest) -> Callable[..., RestProcess]:
    """Return a function that creates servers of each kind. Those with one directory share what is stored."""
    if server_kind == "local":
        return RestProcess
    installation: Installation = request.getfixturevalue("installation")
    workspaces: dict[Path, TestedWorkspace] = {}

    def create(root: Path, *options: str, settings: str = SETTINGS, **fields: Any) -> HostedProcess:
        """Without anything special about the process, it is the one that the tests of a worker share."""
        if root not in workspaces:
            workspaces[root] = installation.create_workspace(settings)
        if not options and not fields:
            return WorkspaceView(request.getfixturevalue("hosted_server"), workspaces[root])
        place: Any = {"installation": installation, "workspace": workspaces[root], "settings": settings}
        return HostedProcess(root, *options, **place, **fields)

    return create
