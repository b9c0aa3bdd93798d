"""The MCP SDK's own client logs in at a hosted server, with a certified provider, and calls tools."""

import asyncio
from uuid import uuid4

import httpx2
import pytest

from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres.members import PostgresMembers
from onetool.testing.http_stub import HttpStub, StubResponse
from onetool.threads import Threads
from support.oauth_browser import REDIRECT_URI, MappedTransport, PersonBrowser, SdkClient
from support.oidc_provider import PUBLIC_URL
from support.waiting import HANG_S

pytestmark = pytest.mark.linux


@pytest.fixture
def workspace(installation):
    return installation.create_workspace("")


@pytest.fixture
async def browser(issuing_site, oidc, workspace):
    """Return the browser of a member who has not logged in yet."""
    person = {"sub": f"sub-{uuid4().hex}", "email": "anna@example.com", "name": "Anna"}
    threads = Threads()
    async with httpx2.AsyncClient(
        base_url=PUBLIC_URL, transport=MappedTransport(issuing_site.port)
    ) as client:
        browser = PersonBrowser(client, oidc, person)
        await browser.open("/auth/login?next=/w/x/")
        browser.person = (await client.get("/auth/session")).json()["person"]["id"]
        client.cookies.clear()
        members = PostgresMembers(workspace.stored, threads)
        await members.put(Member(MemberKind.PERSON, browser.person, Role.CALLER))
        yield browser
    threads.close()


@pytest.fixture
def document():
    """Return the URL of a document of a client."""
    with HttpStub({}) as stub:
        url = f"{stub.url}/clients/test.json"
        body = {"client_id": url, "client_name": "Published client", "redirect_uris": [REDIRECT_URI]}
        stub._responses["/clients/test.json"] = StubResponse(body)
        yield url


async def echo(client, text):
    result = await client.call_tool("run", {"command": f"tools.echo(message={text!r})"})
    assert not result.is_error, result
    return result.content[0].text


@pytest.mark.parametrize("kind", ["document", "registered"])
async def test_sdk_client_logs_in_calls_refreshes_and_logs_in_again(
    issuing_site, browser, workspace, document, kind
):
    url = document if kind == "document" else ""
    sdk = SdkClient(workspace.slug, issuing_site.port, browser, url)
    async with sdk.session() as client:
        assert await echo(client, "hello") == "hello"
        first, context = sdk.storage.tokens, sdk.provider.context
        assert (sdk.logins, first.scope) == (1, "mcp")
        context.token_expiry_time = 1.0  # the client believes that an hour has passed
        assert await echo(client, "refreshed") == "refreshed"
        second = sdk.storage.tokens
        assert sdk.logins == 1
        assert {first.access_token, first.refresh_token}.isdisjoint(
            (second.access_token, second.refresh_token)
        )
        expire_access_tokens(workspace)
        await becomes_refused(browser.client, workspace, second.access_token)
        assert await echo(client, "again") == "again"
        assert sdk.logins == 2, "a refused token leads to a new login"
    name = "Published client" if url else "Test client"
    assert name in browser.pages[0].text
    page = browser.pages[0].text
    assert all(
        text in page for text in ("http://127.0.0.1:33418", workspace.slug, "anna@example.com", "caller")
    )
    assert ("127.0.0.1" if url else "registered itself") in page
    own = {"Origin": PUBLIC_URL, "X-OneTool": "1"}
    listed = (await browser.client.get(f"{workspace.path}/oauth/grants")).json()["grants"]
    assert [grant["clientName"] for grant in listed] == [name, name]
    for grant in listed:
        path = f"{workspace.path}/oauth/grants/{grant['id']}"
        assert (await browser.client.delete(path, headers=own)).status_code == 204
        assert (await browser.client.delete(path, headers=own)).status_code == 404
    refused = await becomes_refused(browser.client, workspace, sdk.storage.tokens.access_token)
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    records = (await browser.client.get(f"{workspace.path}/activity")).json()["records"]
    assert {record["tool"] for record in records} >= {"tools.echo"}, "the client has called as the person"


def expire_access_tokens(workspace):
    """Let all access tokens expire, and tell the servers."""
    with workspace.stored.writing("keys") as cursor:
        cursor.execute(
            "update oauth_tokens set expires_at = now() where workspace_id = %s and kind = 'access'",
            (workspace.stored.workspace,),
        )


async def becomes_refused(client, workspace, token):
    """Wait until a server has noticed that a token is not valid any more."""
    headers = {"Authorization": f"Bearer {token}"}
    async with asyncio.timeout(HANG_S):
        while (response := await client.post(f"{workspace.path}/mcp", headers=headers)).status_code != 401:
            pass
    return response
