"""A hosted OneTool of a run: two clusters of PostgreSQL, Redis, two servers and a worker, behind proxies."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg

from chaos.processes import OneToolProcess, ServerProcess, WorkerProcess
from chaos.proxy import Link
from chaos.servers import PostgresNode, free_port
from chaos.upstreams import CountingUpstream
from onetool.bootstrap.hosted_admin import (
    ClusterAdmin,
    migrate_database,
    new_key,
    open_contents,
    workspace_admin,
)
from onetool.domain.identity.roles import Role
from onetool.storage.postgres.clusters import HOME, url_variable
from support.jumping_clock import JumpingClock
from support.openid_stub import CLIENT_ID, OpenIdStub
from support.postgres import WEST
from support.prompted_model import PromptedModel
from support.redis_server import RedisServer

SERVERS = ("a", "b")
PROCESSES = (*SERVERS, "worker")
OPERATOR = "operator"
"""Uses the database as `onetool admin` does."""
LOGINS = """
create role onetool_server login in role onetool_app;
create role onetool_jobs login in role onetool_worker;
"""
NODES = {HOME: ("primary", "standby"), WEST: ("west",), "redis": ("redis",)}
"""The targets of links, by cluster, and that of Redis."""
CLOCK_SERVER = "b"
"""The server whose wall clock may jump."""
MONTH = timedelta(days=30)
OWNER = "anna"
CLOSE_S = 120.0
CALL_S = 20.0
"""Time limit of calls: more than a call takes on a busy machine."""


@dataclass
class Place:
    """A workspace of the run."""

    slug: str
    id: UUID
    cluster: str
    key: str
    canary: str
    """A text in its tools, secrets and results, which no other workspace may see."""
    settings: dict[str, Any] = field(default_factory=dict)


class Template:
    """Clusters with all tables, which each run copies."""

    def __init__(self) -> None:
        self.home, self.west = PostgresNode(), PostgresNode()
        self.keys = new_key("chaos")

    def create(self) -> "Template":
        """Create the clusters, and stop them."""
        self.home.__enter__()
        migrate_database(self.home.url)
        with psycopg.connect(self.home.url, autocommit=True) as connection:
            connection.execute(LOGINS.encode())
        self.home.stop()
        self.west.copy_files(self.home)
        self.home.start()
        workspace_admin(self.home.url, self.keys).create("first")
        self.home.stop()
        return self

    def close(self) -> None:
        """Delete the clusters."""
        self.home.close()
        self.west.close()


class ChaosInstallation:
    """Everything that runs, and the links between it."""

    def __init__(self, root: Path, *, with_standby: bool, with_clock: bool) -> None:
        self.root = root
        self.with_standby, self.with_clock = with_standby, with_clock
        self.places: list[Place] = []
        self.clock = JumpingClock(root / "clock")
        self._stack = AsyncExitStack()

    async def start(self, template: Template) -> "ChaosInstallation":
        """Start everything and create nothing in it."""
        self.keys = template.keys
        await asyncio.to_thread(self._start_stores, template)
        self._stack.push_async_callback(asyncio.to_thread, self._stop_stores)
        self.upstream = await self._stack.enter_async_context(CountingUpstream())
        self.model = self._stack.enter_context(PromptedModel())
        self.issuer = self._stack.enter_context(OpenIdStub())
        self.links: dict[tuple[str, str], Link] = {}
        targets = {
            "primary": self.primary.port,
            "standby": self.standby_port,
            "west": self.west.port,
            "redis": self.redis.port,
        }
        for process in (*PROCESSES, OPERATOR):
            for name, port in targets.items():
                self.links[process, name] = await Link(port).start()
                self._stack.push_async_callback(self.links[process, name].close)
        self.processes = self._create_processes()
        for process in self.processes.values():
            self._stack.push_async_callback(process.close)
        await asyncio.gather(*(process.start() for process in self.processes.values()))
        return self

    async def close(self) -> None:
        """Stop everything that was started."""
        async with asyncio.timeout(CLOSE_S):
            await self._stack.aclose()

    @property
    def servers(self) -> list[ServerProcess]:
        """The processes that serve requests."""
        return [process for process in self.processes.values() if isinstance(process, ServerProcess)]

    @property
    def worker(self) -> OneToolProcess:
        """The process that runs jobs."""
        return self.processes["worker"]

    @property
    def current_primary(self) -> PostgresNode:
        """The server that accepts changes: the standby, once it was promoted."""
        return self.primary if self.standby is None or not self.is_promoted else self.standby

    @property
    def urls(self) -> Mapping[str, str]:
        """The URLs of the superuser by cluster, of home at the current primary, without a proxy."""
        return {HOME: self.current_primary.url, WEST: self.west.url}

    def links_of(self, target: str, process: str | None = None) -> list[Link]:
        """Return the links to a cluster or to Redis, of all processes or of one."""
        return [
            link
            for (owner, name), link in self.links.items()
            if name in NODES[target] and process in (None, owner)
        ]

    def places_in(self, cluster: str) -> frozenset[str]:
        """Return the slugs of the workspaces that a cluster has now."""
        return frozenset(place.slug for place in self.places if place.cluster == cluster)

    async def create_place(self, cluster: str, **servers: Any) -> Place:
        """Create a workspace with a key of its owner, and with MCP servers besides the upstream."""
        slug, canary = f"w-{uuid4().hex[:12]}", f"canary{uuid4().hex}"
        url, others = self.urls[HOME], {WEST: self.urls[WEST]}
        admin = workspace_admin(url, self.keys, others)
        created = await asyncio.to_thread(admin.create, slug, cluster=cluster)
        document = {
            "allowedHosts": ["127.0.0.1"],
            "approval": {"allow": ["bb.*", "up.*"]},
            "execution": {"timeout_s": CALL_S},
            "providers": {"fake": {"base_url": self.model.base_url, "model": "m"}},
            "servers": {"up": {"url": f"{self.upstream.url}/mcp/{canary}"}} | servers,
        }
        async with open_contents(url, self.keys, slug, others) as contents:
            key = await contents.create_key(OWNER, "chaos", MONTH, role=Role.OWNER)
            await contents.replace_settings(document, "operator")
            await contents.secrets.put("CANARY", f"secret-{canary}", ["127.0.0.1"])
        place = Place(slug, created.id, cluster, key.text, canary, document)
        self.places.append(place)
        return place

    def promote_standby(self) -> None:
        """Make the standby the primary. The old primary must have ended."""
        assert self.standby
        self.standby.promote()
        self.is_promoted = True

    def _start_stores(self, template: Template) -> None:
        settings = ["synchronous_standby_names=*"] if self.with_standby else []
        self.is_promoted, self.standby, self.standby_port = False, None, free_port()
        self.primary, self.west = PostgresNode(*settings), PostgresNode()
        self.primary.mount_small_disk()
        for node, files in ((self.primary, template.home), (self.west, template.west)):
            node.copy_files(files)
            node.start()
        if self.with_standby:
            self.standby = PostgresNode(primary=self.primary)
            self.standby_port = self.standby.port
            self.standby.__enter__()
        ClusterAdmin(self.urls).add(WEST)
        self.redis = RedisServer(port=free_port())
        self.redis.start()

    def _stop_stores(self) -> None:
        for name in ("standby", "primary", "west"):
            if node := getattr(self, name):
                (self.root / f"{name}.log").write_text(node.log)
                node.close()
        self.redis.close()

    def _create_processes(self) -> dict[str, OneToolProcess]:
        processes: dict[str, OneToolProcess] = {}
        for name in PROCESSES:
            folder = self.root / name
            env = self._environment(name)
            if name == "worker":
                processes[name] = WorkerProcess(folder, env)
            else:
                processes[name] = ServerProcess(name, folder, free_port(), env)
        return processes

    @property
    def operator_urls(self) -> Mapping[str, str]:
        """The URLs of the operator by cluster, through proxies."""
        return self._database_urls(OPERATOR, "postgres")

    def _database_urls(self, name: str, user: str) -> dict[str, str]:
        hosts = {
            cluster: ",".join(f"127.0.0.1:{self.links[name, node].port}" for node in NODES[cluster])
            for cluster in (HOME, WEST)
        }
        ending = "postgres?target_session_attrs=read-write"
        return {cluster: f"postgresql://{user}@{each}/{ending}" for cluster, each in hosts.items()}

    def _environment(self, name: str) -> dict[str, str]:
        user = "onetool_jobs" if name == "worker" else "onetool_server"
        redis_port = self.links[name, "redis"].port
        env = {
            **{url_variable(cluster): url for cluster, url in self._database_urls(name, user).items()},
            "ONETOOL_REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
            "ONETOOL_KEYS": self.keys,
            "ONETOOL_PUBLIC_URL": "http://127.0.0.1:1",
            "ONETOOL_OIDC_ISSUER": self.issuer.issuer,
            "ONETOOL_OIDC_CLIENT_ID": CLIENT_ID,
            "ONETOOL_OIDC_CLIENT_SECRET": "a secret",
        }
        if name == CLOCK_SERVER and self.with_clock:
            env |= self.clock.env
        return env


@asynccontextmanager
async def run_installation(
    template: Template, root: Path, *, with_standby: bool = False, with_clock: bool = False
) -> AsyncIterator[ChaosInstallation]:
    """Start an installation, and stop it at the end."""
    installation = ChaosInstallation(root, with_standby=with_standby, with_clock=with_clock)
    try:
        yield await installation.start(template)
    finally:
        await installation.close()


def new_root() -> Path:
    """Create a directory for everything. The user of PostgreSQL may enter it."""
    root = Path(tempfile.mkdtemp(prefix="onetool-chaos-"))
    root.chmod(0o755)
    return root


def delete_root(root: Path) -> None:
    """Delete the directory."""
    shutil.rmtree(root, ignore_errors=True)
