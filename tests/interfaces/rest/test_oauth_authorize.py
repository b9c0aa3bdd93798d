"""`/oauth/authorize` under attack: no code leaves without the consent of the right person."""

import base64
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from interfaces.rest.oauth_world import CHALLENGE, PUBLIC, REDIRECT_URI
from onetool.domain.policy.member import MemberKind
from onetool.interfaces.rest.oauth import consent
from onetool.testing.http_stub import StubResponse
from support.oauth_browser import OWN_FORM, consent_of, parameters

pytestmark = pytest.mark.asyncio(loop_scope="module")
WRONG_URIS = {
    "a longer path": f"{REDIRECT_URI}/evil",
    "a slash at the end": f"{REDIRECT_URI}/",
    "a domain that begins alike": "https://client.example.evil.com/cb",
    "the host as user": "https://client.example@evil.com/cb",
    "a user": "https://evil@client.example/cb",
    "a fragment": f"{REDIRECT_URI}#x",
    "a path that goes up": f"{REDIRECT_URI}/../evil",
    "an encoded path that goes up": f"{REDIRECT_URI}/%2e%2e/evil",
    "another port": "https://client.example:8443/cb",
    "without TLS": "http://client.example/cb",
    "capital letters": "https://CLIENT.example/cb",
    "a backslash": "https://client.example\\@evil.com/cb",
    "a query": f"{REDIRECT_URI}?x=1",
    "none": None,
    "empty": "",
    "another path of this computer": "http://127.0.0.1/evil",
    "another address of this computer": "http://127.0.0.2/cb",
    "this computer as user": "http://127.0.0.1:80@evil.com/cb",
    "this computer as a subdomain": "http://127.0.0.1.evil.com/cb",
    "this computer with TLS": "https://127.0.0.1/cb",
    "another name of this computer": "http://localhost/cb",
    "another query of this computer": "http://localhost:4000/cb?x=2",
    "a script": "javascript://client.example/%0aalert(1)",
    "data": "data:text/html,x",
    "a line": f"{REDIRECT_URI}\r\nSet-Cookie: x=y",
    "a tab": f"{REDIRECT_URI}\t",
    "a wide slash": "https://client.example\uff0fcb",
    "another app": "app.example.evil://back/cb",
    "relative": "/cb",
}
WRONG_REQUESTS = {
    "no challenge": ({"code_challenge": None}, "invalid_request"),
    "a plain challenge": ({"code_challenge_method": "plain"}, "invalid_request"),
    "a challenge that is plain by default": ({"code_challenge_method": None}, "invalid_request"),
    "a short challenge": ({"code_challenge": "x" * 42}, "invalid_request"),
    "a padded challenge": ({"code_challenge": CHALLENGE[:-1] + "="}, "invalid_request"),
    "no resource": ({"resource": None}, "invalid_target"),
    "the resource of another workspace": ({"resource": f"{PUBLIC}/w/other/mcp"}, "invalid_target"),
    "all resources": ({"resource": PUBLIC}, "invalid_target"),
    "another server": ({"resource": "https://evil.com/mcp"}, "invalid_target"),
    "a token in the redirect": ({"response_type": "token"}, "unsupported_response_type"),
    "both": ({"response_type": "code token"}, "unsupported_response_type"),
    "no response type": ({"response_type": None}, "unsupported_response_type"),
}


async def test_person_allows_a_client(oauth):
    async with oauth.logged_in() as browser:
        page = await oauth.ask(browser)
        response = await oauth.answer(browser, consent_of(page))
        location = response.headers["location"]
        assert location.startswith(f"{REDIRECT_URI}?")
        found = parameters(location)
        assert found.keys() == {"code", "state", "iss"}
        assert (found["state"], found["iss"]) == ("s t&a=te", f"{PUBLIC}/w/{oauth.slug}")
        assert response.headers["cache-control"] == "no-store"
        assert (await oauth.redeem(found["code"])).status_code == 200


async def test_program_on_the_computer_chooses_its_port(oauth):
    async with oauth.logged_in() as browser:
        for uri in ("http://127.0.0.1:49152/cb", "http://localhost:4000/cb?x=1", "app.example://back/cb"):
            page = await oauth.ask(browser, redirect_uri=uri)
            response = await oauth.answer(browser, consent_of(page))
            assert response.headers["location"].startswith(f"{uri}{'&' if '?' in uri else '?'}code=")
            code = parameters(response.headers["location"])["code"]
            assert (await oauth.redeem(code, redirect_uri=uri)).status_code == 200


async def test_person_refuses_a_client(oauth):
    async with oauth.logged_in() as browser:
        consent = consent_of(await oauth.ask(browser, state=None))
        for decision in ("deny", "", "ALLOW"):
            response = await oauth.answer(browser, consent, decision)
            found = parameters(response.headers["location"])
            assert (found["error"], found["iss"]) == ("access_denied", f"{PUBLIC}/w/{oauth.slug}")
            assert found.keys() == {"error", "error_description", "iss"}


@pytest.mark.guards("person-clients")
async def test_browser_is_never_sent_to_a_uri_that_is_not_the_clients(oauth):
    async with oauth.logged_in() as browser:
        for what, uri in WRONG_URIS.items():
            for changes in ({}, {"response_type": "token"}):  # errors do not lead there either
                response = await oauth.ask(browser, redirect_uri=uri, **changes)
                assert (response.status_code, "location" in response.headers) == (400, False), what
                assert "consent" not in response.text, what


async def test_wrong_request_gets_an_error_and_no_question(oauth):
    async with oauth.logged_in() as browser:
        for what, (changes, error) in WRONG_REQUESTS.items():
            response = await oauth.ask(browser, **changes)
            assert response.status_code == 303, what
            assert response.headers["location"].startswith(f"{REDIRECT_URI}?"), what
            found = parameters(response.headers["location"])
            assert found.keys() == {"error", "error_description", "state", "iss"}, what
            assert (found["error"], found["state"]) == (error, "s t&a=te"), what


async def test_parameter_that_occurs_twice_is_refused(oauth):
    async with oauth.logged_in() as browser:
        for name in oauth.question():
            query = urlencode([*oauth.question().items(), (name, "https://evil.com/cb")])
            response = await browser.get(f"{oauth.authorize_path()}?{query}")
            assert (response.status_code, "location" in response.headers) == (400, False), name


async def test_answer_without_the_question_is_refused(oauth):
    other = await oauth.new_workspace()
    async with (
        oauth.logged_in() as browser,
        oauth.logged_in(browser.person) as same_person,
        oauth.logged_in() as victim,
    ):
        own, elsewhere = consent_of(await oauth.ask(browser)), consent_of(await oauth.ask(victim))
        sealed = bytearray(base64.urlsafe_b64decode(own))
        sealed[-1] ^= 1
        async with oauth.contents(other) as contents:
            (member,) = [item for item in await members(oauth) if item.id == victim.person]
            await contents.members.put(member)
        attacks = {
            "no question": (victim, "", {}),
            "not a question": (victim, "x", {}),
            "not base64": (victim, "ä", {}),
            "a question to another person": (victim, own, {}),
            "a question to another session of the person": (same_person, own, {}),
            "a changed question": (browser, base64.urlsafe_b64encode(sealed).decode(), {}),
            "a question about another workspace": (victim, elsewhere, {"slug": other}),
        }
        for what, (sender, text, fields) in attacks.items():
            response = await oauth.answer(sender, text, **fields)
            assert (response.status_code, "location" in response.headers) == (403, False), what
        assert await grants(oauth, victim) == await grants(oauth, browser) == []


async def members(oauth):
    async with oauth.contents(oauth.slug) as contents:
        return await contents.members.list()


async def grants(oauth, browser):
    return (await browser.get(f"/w/{oauth.slug}/oauth/grants", headers={"Accept": "*/*"})).json()["grants"]


async def test_answer_of_another_page_is_refused(oauth):
    async with oauth.logged_in() as browser:
        consent = consent_of(await oauth.ask(browser))
        form, path = {"consent": consent, "decision": "allow"}, oauth.authorize_path()
        for what, headers in {
            "another site": {"Origin": "https://evil.com", "Sec-Fetch-Site": "cross-site"},
            "another port": {"Origin": f"{PUBLIC}:8080", "Sec-Fetch-Site": "same-site"},
            "the same site": OWN_FORM | {"Sec-Fetch-Site": "same-site"},
            "cross-site": OWN_FORM | {"Sec-Fetch-Site": "cross-site"},
            "a sandboxed frame": {"Origin": "null"},
            "no origin": {},
        }.items():
            response = await browser.post(path, data=form, headers=headers)
            assert (response.status_code, "location" in response.headers) == (403, False), what
        response = await browser.get(path, params=oauth.question() | form)
        assert response.status_code == 200, "a link asks, and does not answer"
        assert await grants(oauth, browser) == []
        double = f"{urlencode(form)}&decision=allow"
        headers = OWN_FORM | {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await browser.post(path, content=double, headers=headers)).status_code == 400
        large = await browser.post(path, data={"consent": "x" * 20_000}, headers=OWN_FORM)
        assert large.status_code == 413


@pytest.mark.guards("person-clients")
async def test_answer_counts_once(oauth):
    async with oauth.logged_in() as browser:
        consent = consent_of(await oauth.ask(browser))
        first = await oauth.answer(browser, consent)
        assert first.status_code == 303
        again = await oauth.answer(browser, consent)
        assert (again.status_code, "location" in again.headers) == (409, False)
        assert len(await grants(oauth, browser)) == 1


async def test_old_answer_is_refused(oauth, monkeypatch):
    async with oauth.logged_in() as browser:
        monkeypatch.setattr(consent, "CONSENT_S", -1)
        question = consent_of(await oauth.ask(browser))
        assert (await oauth.answer(browser, question)).status_code == 403


async def test_person_who_has_logged_out_or_is_removed_cannot_answer(oauth):
    async with oauth.logged_in() as browser:
        question = consent_of(await oauth.ask(browser))
        async with oauth.contents(oauth.slug) as contents:
            await contents.members.remove(MemberKind.PERSON, browser.person)
        assert (await oauth.answer(browser, question)).status_code == 404
        browser.cookies.clear()
        assert (await oauth.answer(browser, question)).status_code == 401


async def test_browser_without_a_session_logs_in_and_comes_back(oauth):
    async with oauth.browser() as browser:
        response = await oauth.ask(browser)
        assert response.status_code == 303
        target = urlsplit(response.headers["location"])
        assert (target.scheme, target.netloc, target.path) == ("", "", "/auth/login")
        (next,) = parse_qs(target.query)["next"]
        path, _, query = next.partition("?")
        assert path == oauth.authorize_path()
        assert parameters(f"?{query}") == oauth.question()
        assert oauth.stub.requests == [], "no one has logged in for whom a document would be fetched"
        too_long = await oauth.ask(browser, state="x" * 2_000)
        assert (too_long.status_code, "location" in too_long.headers) == (414, False)
        huge = await oauth.ask(browser, state="x" * 17_000)
        assert huge.status_code == 414
        many = await browser.get(f"{oauth.authorize_path()}?{'&'.join(f'p{n}=' for n in range(60))}")
        assert many.status_code == 400


async def test_session_that_an_attacker_has_made_up_is_none(oauth):
    async with oauth.browser(f"ots_{'a' * 43}") as browser:
        response = await oauth.ask(browser)
        assert response.headers["location"].startswith("/auth/login?")
        assert "set-cookie" not in response.headers


async def test_someone_else_cannot_see_that_a_workspace_exists(oauth):
    async with oauth.logged_in(slug="") as browser:
        exists = await oauth.ask(browser)
        unknown = await oauth.ask(browser, slug="no-such-workspace")
        assert exists.status_code == unknown.status_code == 404
        assert exists.text == unknown.text
        assert oauth.stub.requests == []


async def test_api_key_allows_no_client(oauth):
    key = (await oauth.new_key(oauth.slug)).text
    async with oauth.browser(Authorization=f"Bearer {key}") as program:
        response = await oauth.ask(program)
        assert response.headers["location"].startswith("/auth/login?")


async def test_page_cannot_be_framed_and_runs_nothing(oauth):
    name = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e\x00"
    id = oauth.publish("/xss.json", client_name=name)
    async with oauth.logged_in() as browser:
        page = await oauth.ask(browser, client_id=id)
        assert page.status_code == 200
        assert not re.search(r"<(script|img|a|iframe|svg|style)\b", page.text)
        assert "\u202e" not in page.text
        assert "&lt;script&gt;" in page.text
        policy = page.headers["content-security-policy"]
        assert policy == (
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self' https://client.example"
        )
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["referrer-policy"] == "same-origin"
        assert page.headers["cache-control"] == "no-store"
        refused = await oauth.ask(browser, client_id="<script>alert(1)</script>")
        assert "<script>" not in refused.text
        assert refused.headers["content-security-policy"].endswith("form-action 'self'")


@pytest.mark.parametrize(
    ("uri", "target"),
    [
        ("http://127.0.0.1:8/cb", "http://127.0.0.1:8"),
        ("http://[::1]:8/cb", "http:"),
        ("cursor://a.b/cb", "cursor:"),
    ],
)
async def test_form_leads_to_the_client(uri, target):
    assert consent.form_target(uri) == target


async def test_error_page_of_a_client_that_cannot_be_used(oauth):
    oauth.documents["/moved.json"] = StubResponse("", 302, {"Location": oauth.client_id})
    async with oauth.logged_in() as browser:
        for id in ("", "unknown", f"{oauth.stub.url}/moved.json", "registered.x", "registered.ä"):
            response = await oauth.ask(browser, client_id=id)
            assert (response.status_code, "location" in response.headers) == (400, False), id
        wrong = await browser.put(oauth.authorize_path())
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, POST")


async def test_database_that_is_away_allows_nothing(own_oauth):
    oauth = own_oauth
    async with oauth.logged_in() as browser:
        question = consent_of(await oauth.ask(browser))
        await oauth.parts.threads.run(oauth.parts.notices.stop)
        oauth.parts.database.is_away = True
        assert (await oauth.ask(browser)).status_code == 503
        assert (await oauth.answer(browser, question)).status_code == 503
        assert (await oauth.redeem("otc_x")).json()["error"] == "temporarily_unavailable"
        oauth.parts.database.is_away = False
