"""A hosted server in the process of the test, and requests to it."""

from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from uuid import uuid4

import httpx2

from onetool.bootstrap.api_keys import ApiKeyAuthenticator
from onetool.bootstrap.hosted import open_workspace
from onetool.bootstrap.hosted_admin import open_contents, workspace_admin
from onetool.bootstrap.workspaces import OpenWorkspaces
from onetool.domain.identity.roles import Role
from onetool.interfaces.mcp.transports import NamedApps
from onetool.interfaces.rest.current_workspace import MountedWorkspace
from onetool.interfaces.rest.hosted import HostedApp
from onetool.interfaces.web.static import StaticApp
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.key_ring import new_key

RING = new_key("hosted")
YEAR = timedelta(days=365)


class HostedServer:
    """A hosted server in this process."""

    def __init__(self, parts, url, people=None):
        self.parts, self.url, self._addresses = parts, url, count(1)
        self.workspaces = OpenWorkspaces(self._open)
        self.app = HostedApp(
            self.workspaces,
            authenticate=ApiKeyAuthenticator(parts).authenticate,
            status=parts.status,
            threads=parts.threads,
            web_ui=StaticApp(),
            people=people,
        )

    @asynccontextmanager
    async def _open(self, slug):
        async with open_workspace(self.parts, slug) as opened:
            mcp = NamedApps(opened.runtime)
            try:
                yield MountedWorkspace(
                    opened.runtime, opened.credentials, mcp, opened.rights, opened.administration
                )
            finally:
                await mcp.close()

    @property
    def others(self):
        return {name: url for name, url in self.parts.urls.items() if name != HOME}

    async def new_workspace(self, cluster=None):
        slug = f"w{uuid4().hex}"
        admin = workspace_admin(self.url, RING, self.others)
        await self.parts.threads.run(admin.create, slug, "", cluster)
        return slug

    def contents(self, slug):
        return open_contents(self.url, RING, slug, self.others)

    async def new_key(self, slug, owner="anna", patterns=(), lifetime=YEAR, role=Role.OWNER):
        async with self.contents(slug) as contents:
            return await contents.create_key(owner, "test", lifetime, patterns, role=role)

    def transport(self):
        """Return a connection from an address of its own: wrong credentials of one address are delayed."""
        number = next(self._addresses)
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 1
        return httpx2.ASGITransport(app=self.app, client=address)

    def client(self, slug, key=""):
        headers = {"Authorization": f"Bearer {key}".encode()} if key else {}
        transport = self.transport()
        return httpx2.AsyncClient(transport=transport, base_url=f"http://localhost/w/{slug}", headers=headers)
