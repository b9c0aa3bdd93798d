"""Access tokens of other issuers, and what tells MCP clients where to get them."""

import asyncio
import time

import jwt
import pytest
from pytest_asyncio import fixture as async_fixture

from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.login_settings import login_settings
from onetool.domain.identity.person import Identity
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.interfaces.cli.hosted import hosted_people
from onetool.storage.postgres.people import PostgresPeople
from support.hosted_server import RING, HostedServer
from support.openid_stub import OTHER_KEY, RSA_KEY, OpenIdStub
from support.raw_mcp import HTTP_HEADERS, INITIALIZE
from support.waiting import HANG_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
PUBLIC = "http://localhost"


class TokenServer(HostedServer):
    """A hosted server in this process that accepts access tokens of an issuer."""

    def __init__(self, parts, url, issuer):
        self.issuer = issuer
        environment = {
            "ONETOOL_OIDC_ISSUER": issuer,
            "ONETOOL_OIDC_CLIENT_ID": "onetool",
            "ONETOOL_PUBLIC_URL": PUBLIC,
            "ONETOOL_JWT_ISSUERS": issuer,
        }
        super().__init__(parts, url, hosted_people(parts, login_settings(environment)))
        self.people = PostgresPeople(parts.database, parts.threads)

    async def new_member(self, slug, role=Role.CALLER, subject="anna-1"):
        person = await self.people.sign_in(Identity(self.issuer, subject))
        async with self.contents(slug) as contents:
            await contents.members.put(Member(MemberKind.PERSON, str(person), role))
        return person

    def token(self, slug, *, key=RSA_KEY, algorithm="RS256", header=None, **claims):
        """Return a token for a workspace; None removes a claim."""
        now = int(time.time())
        right = {
            "iss": self.issuer,
            "sub": "anna-1",
            "aud": f"{PUBLIC}/w/{slug}/mcp",
            "iat": now,
            "exp": now + 300,
        }
        values = {name: value for name, value in (right | claims).items() if value is not None}
        return jwt.encode(values, key, algorithm, headers={"kid": "rsa", "typ": "at+jwt"} | (header or {}))


@async_fixture(scope="module", loop_scope="module")
async def server(hosted_url):
    with OpenIdStub() as stub:
        async with open_hosted(hosted_url, RING) as parts:
            server = TokenServer(parts, hosted_url, stub.issuer)
            yield server
            await server.workspaces.aclose()


async def test_member_calls_with_a_token_of_a_listed_issuer(server):
    slug = await server.new_workspace()
    person = await server.new_member(slug, subject="leaving")
    async with server.client(slug, server.token(slug, sub="leaving")) as client:
        assert '"serverInfo"' in (await ask(client)).text
        await server.people.disable(person)
        async with asyncio.timeout(HANG_S):  # until the announcement arrives
            while (await ask(client)).status_code not in (401, 403):
                await asyncio.sleep(0.01)


async def test_token_for_mcp_is_not_accepted_by_other_routes(server):
    """Its audience is the MCP endpoint: a client must not create keys or change members with it."""
    slug = await server.new_workspace()
    await server.new_member(slug, role=Role.OWNER)
    async with server.client(slug, server.token(slug)) as client:
        assert (await ask(client)).status_code == 200
        for method, path in (("GET", "/me"), ("POST", "/keys"), ("GET", "/members"), ("POST", "/tools/call")):
            assert (await client.request(method, path, json={})).status_code == 401, path


async def ask(client):
    return await client.post("/mcp", json=INITIALIZE, headers=HTTP_HEADERS)


def wrong_tokens(server, slug, other):
    """Return tokens that must not be accepted, by what is wrong with them."""
    past = int(time.time()) - 3600
    return {
        "of another workspace": server.token(other),
        "for all resources": server.token(slug, aud=PUBLIC),
        "for a client": server.token(slug, aud="onetool"),
        "without an audience": server.token(slug, aud=None),
        "of another issuer": server.token(slug, iss="https://attacker.example"),
        "without an issuer": server.token(slug, iss=None),
        "expired": server.token(slug, exp=past),
        "without an end": server.token(slug, exp=None),
        "of an unknown person": server.token(slug, sub="stranger"),
        "without a subject": server.token(slug, sub=None),
        "signed by another key": server.token(slug, key=OTHER_KEY),
        "with an unknown key": server.token(slug, header={"kid": "unknown"}),
        "not signed": server.token(slug, key=None, algorithm="none"),
        "signed with a secret": server.token(slug, key="x" * 64, algorithm="HS256"),
        "an ID token": server.token(slug, nonce="n"),
        "another kind of token": server.token(slug, header={"typ": "logout+jwt"}),
        "cut": server.token(slug)[:-4],
        "dots": "..",
        "large": f"{'a' * 200_000}.b.c",
        "text": "a.b.c",
    }


async def test_wrong_tokens_are_refused(server):
    slug, other = await server.new_workspace(), await server.new_workspace()
    await server.new_member(slug)
    await server.new_member(other)
    accepted = []
    for what, token in wrong_tokens(server, slug, other).items():
        async with server.client(slug, token) as client:
            response = await ask(client)
            if response.status_code != 401:
                accepted.append((what, response.status_code, response.text))
    assert accepted == []


async def test_person_who_is_no_member_is_refused(server):
    slug, other = await server.new_workspace(), await server.new_workspace()
    await server.new_member(other)
    async with server.client(slug, server.token(slug)) as client:
        assert (await ask(client)).status_code == 401


async def test_clients_are_told_where_to_get_a_token(server):
    slug = await server.new_workspace()
    async with server.client(slug) as client:
        refused = await client.post("/mcp", json={})
        challenge = refused.headers["www-authenticate"]
        assert (refused.status_code, challenge) == (
            401,
            f'Bearer resource_metadata="{PUBLIC}/.well-known/oauth-protected-resource/w/{slug}/mcp"',
        )
        url = challenge.partition('"')[2].rstrip('"')
        metadata = await client.get(url)
        assert metadata.json() == {
            "resource": f"{PUBLIC}/w/{slug}/mcp",
            "authorization_servers": [server.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "OneTool",
        }
        assert (await client.post(url)).status_code == 405
        unknown = await client.get(url.replace(slug, "no-such-workspace"))
        assert unknown.status_code == 200  # it reveals nothing
        for path in ("/w/a/b/mcp", "/w//mcp", "/w/a%2Fb/mcp", '/w/a"x/mcp', "/mcp", ""):
            response = await client.get(f"{PUBLIC}/.well-known/oauth-protected-resource{path}")
            assert response.status_code == 404, path
        assert (await client.get("/tools/tools")).headers["www-authenticate"] == "Bearer"
