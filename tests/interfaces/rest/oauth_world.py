"""A hosted server in this process that issues tokens to MCP clients, with people who allow them."""

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import httpx2

from onetool.bootstrap.hosted import HostedParts
from onetool.bootstrap.login_settings import login_settings
from onetool.domain.identity.person import Identity
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.interfaces.cli.hosted import hosted_people
from onetool.storage.postgres.people import PostgresPeople
from onetool.testing.http_stub import HttpStub, StubResponse
from support.hosted_server import HostedServer
from support.oauth_browser import OWN_FORM, consent_of, parameters

PUBLIC = "http://localhost"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REDIRECT_URI = "https://client.example/cb"
REDIRECT_URIS = [REDIRECT_URI, "http://127.0.0.1/cb", "http://localhost:3000/cb?x=1", "app.example://back/cb"]
HOUR = timedelta(hours=1)


class OAuthWorld(HostedServer):
    """The server, with a workspace and the document of a client."""

    def __init__(self, parts: HostedParts, url: str, issuer: str, **variables: str) -> None:
        environment = {
            "ONETOOL_OIDC_ISSUER": issuer,
            "ONETOOL_OIDC_CLIENT_ID": "onetool",
            "ONETOOL_PUBLIC_URL": PUBLIC,
            "ONETOOL_AUTHORIZATION_SERVER": "on",
            "ONETOOL_CLIENT_HOSTS": "127.0.0.1",
            **variables,
        }
        settings = login_settings(environment)
        assert settings is not None
        super().__init__(parts, url, hosted_people(parts, settings))
        self.people = PostgresPeople(parts.database, parts.threads)
        self.documents: dict[str, Any] = {}
        self.stub = HttpStub(self.documents)
        self.client_id = self.publish("/client.json")
        self.slug = ""

    async def renew(self) -> None:
        """Continue with a new workspace, and with a client whose document was not fetched yet."""
        self.slug = await self.new_workspace()
        self.client_id = self.publish(f"/{self.slug}.json")
        self.stub.requests.clear()

    def publish(self, path: str, **fields: Any) -> str:
        """Publish the document of a client, and return its id; None removes a field."""
        url = f"{self.stub.url}{path}"
        right = {"client_id": url, "client_name": "Client", "redirect_uris": REDIRECT_URIS}
        body = {name: value for name, value in (right | fields).items() if value is not None}
        self.documents[path] = StubResponse(body)
        return url

    def browser(self, session: str = "", **headers: str) -> httpx2.AsyncClient:
        cookies = {"onetool-session": session} if session else {}
        return httpx2.AsyncClient(
            transport=self.transport(),
            base_url=PUBLIC,
            cookies=cookies,
            headers={"Accept": "text/html", **headers},
        )

    async def new_person(self, slug: str = "", role: Role = Role.CALLER) -> str:
        """Create a person, a member of a workspace."""
        person = await self.people.sign_in(
            Identity("https://login.example", f"sub-{uuid4().hex}", name="Anna")
        )
        if slug:
            async with self.contents(slug) as contents:
                await contents.members.put(Member(MemberKind.PERSON, str(person), role))
        return str(person)

    @asynccontextmanager
    async def logged_in(self, person: str = "", slug: str | None = None) -> AsyncIterator[httpx2.AsyncClient]:
        """Open a browser in which a person has logged in; by default, a new member of the workspace."""
        person = person or await self.new_person(self.slug if slug is None else slug)
        session = await self.people.begin_session(person, HOUR)  # type: ignore[arg-type]
        async with self.browser(session) as browser:
            vars(browser)["person"] = person
            yield browser

    def authorize_path(self, slug: str = "") -> str:
        return f"/w/{slug or self.slug}/oauth/authorize"

    def question(self, **changes: str | None) -> dict[str, str]:
        """Return what a client asks with; None removes a parameter."""
        slug = changes.pop("slug", None) or self.slug
        right = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT_URI,
            "state": "s t&a=te",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": f"{PUBLIC}/w/{slug}/mcp",
        }
        return {name: value for name, value in (right | changes).items() if value is not None}

    async def ask(
        self, browser: httpx2.AsyncClient, slug: str = "", **changes: str | None
    ) -> httpx2.Response:
        """Send a browser with the question of a client."""
        query = urlencode(self.question(slug=slug, **changes))
        return await browser.get(f"{self.authorize_path(slug)}?{query}")

    async def answer(
        self,
        browser: httpx2.AsyncClient,
        consent: str,
        decision: str = "allow",
        slug: str = "",
        **headers: str,
    ) -> httpx2.Response:
        form = {"consent": consent, "decision": decision}
        return await browser.post(self.authorize_path(slug), data=form, headers=OWN_FORM | headers)

    async def code(self, browser: httpx2.AsyncClient, slug: str = "", **changes: str | None) -> str:
        """Let a client act for the person of a browser, and return its code."""
        page = await self.ask(browser, slug, **changes)
        assert page.status_code == 200, page.text
        response = await self.answer(browser, consent_of(page), slug=slug)
        assert response.status_code == 303, response.text
        return parameters(response.headers["location"])["code"]

    async def send(self, endpoint: str, form: dict[str, str | None], slug: str = "") -> httpx2.Response:
        """Send a form of a client, from an address of its own."""
        sent = {name: value for name, value in form.items() if value is not None}
        async with self.browser() as client:
            return await client.post(f"/w/{slug or self.slug}/oauth/{endpoint}", data=sent)

    async def redeem(self, text: str, slug: str = "", **changes: str | None) -> httpx2.Response:
        right = {
            "grant_type": "authorization_code",
            "code": text,
            "client_id": self.client_id,
            "redirect_uri": REDIRECT_URI,
            "code_verifier": VERIFIER,
            "resource": f"{PUBLIC}/w/{slug or self.slug}/mcp",
        }
        return await self.send("token", right | changes, slug)

    async def refresh(self, token: str, slug: str = "", **changes: str | None) -> httpx2.Response:
        right = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client_id}
        return await self.send("token", right | changes, slug)

    async def tokens(self, browser: httpx2.AsyncClient) -> dict[str, Any]:
        """Return the tokens of a client that the person of a browser has allowed."""
        response = await self.redeem(await self.code(browser))
        assert response.status_code == 200, response.text
        return dict(json.loads(response.text))

    async def use(self, token: str, path: str = "/mcp", method: str = "POST", slug: str = "") -> int:
        """Return the status of a request with a token. 400 at `/mcp`: it was accepted, but has no message."""
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        async with self.browser(**headers) as client:
            response = await client.request(method, f"/w/{slug or self.slug}{path}", json={})
            return response.status_code
