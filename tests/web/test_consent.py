"""Browser test of the page that asks whether an MCP client may act for a person."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from pytest_asyncio import fixture as async_fixture

from onetool.domain.identity.person import Identity
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.people import PostgresPeople
from onetool.testing.http_stub import HttpStub, StubResponse
from onetool.threads import Threads
from support.oauth_browser import parameters
from support.oidc_provider import PUBLIC_URL
from support.web_app import TIMEOUT_MS, browser_test, chromium, find_violations

pytestmark = browser_test
NAME = "<b>Editor</b>"


@pytest.fixture(scope="module")
def workspace(installation):
    return installation.create_workspace("")


@async_fixture(scope="module", loop_scope="session")
async def context(issuing_site, installation, workspace):
    """Open a browser of a member. It reaches the server at its public URL."""
    threads = Threads()
    people = PostgresPeople(installation.database, threads)
    person = await people.sign_in(Identity("https://login.example", uuid4().hex, name="Anna"))
    member = Member(MemberKind.PERSON, str(person), Role.CALLER)
    await PostgresMembers(workspace.stored, threads).put(member)
    session = await people.begin_session(person, timedelta(hours=1))
    threads.close()
    rule = f"--host-resolver-rules=MAP localhost:80 127.0.0.1:{issuing_site.port}"
    async with chromium(rule) as browser:
        context = await browser.new_context()
        context.set_default_timeout(TIMEOUT_MS)
        await context.add_cookies([{"name": "onetool-session", "value": session, "url": PUBLIC_URL}])
        context.slug = workspace.slug
        yield context


def question(slug, stub):
    """Return the URL to which a client sends the browser."""
    url = f"{stub.url}/client.json"
    body = {"client_id": url, "client_name": NAME, "redirect_uris": ["http://127.0.0.1/back"]}
    stub._responses["/client.json"] = StubResponse(body)
    stub._responses["/back"] = StubResponse("The client has a code.")
    query = {
        "response_type": "code",
        "client_id": url,
        "redirect_uri": f"{stub.url}/back",
        "state": "the state",
        "code_challenge": "c" * 43,
        "code_challenge_method": "S256",
        "resource": f"{PUBLIC_URL}/w/{slug}/mcp",
    }
    return f"{PUBLIC_URL}/w/{slug}/oauth/authorize?{urlencode(query)}"


async def test_person_is_asked_and_the_browser_goes_back_to_the_client(context):
    page = await context.new_page()
    with HttpStub({}) as stub:
        await page.goto(question(context.slug, stub))
        assert await page.get_by_text(NAME).count() == 1, "the name is text"
        assert await find_violations(page) == []
        await page.get_by_role("button", name="Allow").click()
        await page.get_by_text("The client has a code.").wait_for()
        found = parameters(page.url)
        assert found.keys() == {"code", "state", "iss"}
        assert (found["state"], found["iss"]) == ("the state", f"{PUBLIC_URL}/w/{context.slug}")
        await page.goto(question(context.slug, stub))
        await page.get_by_role("button", name="Deny").click()
        await page.get_by_text("The client has a code.").wait_for()
        assert parameters(page.url)["error"] == "access_denied"


async def test_page_of_another_site_can_neither_frame_nor_answer_the_question(context):
    page = await context.new_page()
    with HttpStub({}) as stub:
        url = question(context.slug, stub)
        frame = f'<iframe src="{url}"></iframe>'
        stub._responses["/evil"] = StubResponse(frame, 200, {"Content-Type": "text/html"})
        await page.goto(f"{stub.url}/evil")
        assert "Allow access" not in await page.frames[1].content()
        target = url.partition("?")[0]
        form = (
            f'<form method="post" action="{target}"><input name="decision" value="allow"><button>Go</button>'
        )
        stub._responses["/evil"] = StubResponse(form, 200, {"Content-Type": "text/html"})
        await page.goto(f"{stub.url}/evil")
        async with page.expect_response(target) as answered:
            await page.get_by_role("button").click()
        assert (await answered.value).status == 403
