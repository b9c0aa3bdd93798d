"""The login of people: cookies, redirects and errors, with a certified provider and PostgreSQL."""

import base64
import re
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

import httpx2
import psycopg
import pytest

from onetool.bootstrap.lookup_slots import LookupSlots
from onetool.bootstrap.people import BrowserSessions
from onetool.identity.oidc import OidcProvider, OidcSettings
from onetool.interfaces.rest.auth.login_cookies import ATTEMPT_S, SESSION_S, LoginCookies
from onetool.interfaces.rest.people_login import PeopleLogin
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.people import PostgresPeople
from onetool.threads import Threads
from support.oidc_provider import CLIENT, PUBLIC_URL
from support.postgres import new_workspace

RING = KeyRing({"one": b"1" * 32})
OWN_PAGE = {"Origin": PUBLIC_URL, "X-OneTool": "1", "Sec-Fetch-Site": "same-origin"}
PAGE = {"Accept": "text/html"}


class Site:
    """A server at which people log in. Several of them share the database, the keys and the provider."""

    def __init__(self, people, issuer, *, url=PUBLIC_URL, ring=RING):
        self.now = 1_000_000.0
        self.people, self.url = people, url
        settings = OidcSettings(issuer=issuer, redirect_uri=f"{PUBLIC_URL}/auth/callback", **CLIENT)
        self.sessions = BrowserSessions(people, lambda: "ok", LookupSlots())
        is_https = url.startswith("https:")
        cookies = LoginCookies(ring.derived("login"), is_https=is_https, clock=lambda: self.now)
        self.app = PeopleLogin(OidcProvider(settings), self.sessions, cookies)

    def browser(self, **fields):
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app), base_url=self.url, **fields)


class Login:
    """The steps of a login."""

    def __init__(self, oidc, browser):
        self.oidc, self.browser = oidc, browser

    async def begin(self, next=""):
        """Return where the provider is."""
        response = await self.browser.get("/auth/login", params={"next": next} if next else {})
        assert response.status_code == 303, response.text
        return response.headers["location"]

    async def authorize(self, person, next=""):
        """Return where the provider sends the browser back to."""
        back = urlsplit(await self.oidc.authorize(await self.begin(next), person))
        return f"{back.path}?{back.query}"

    async def finish(self, person, next=""):
        return await self.browser.get(await self.authorize(person, next), headers=PAGE)


def new_person(**claims):
    return {"sub": f"sub-{uuid4().hex}", "email": "anna@example.com", "name": "Anna", **claims}


def cookies_of(response):
    """Return the attributes of the cookies that a response sets."""
    found = {}
    for header in response.headers.get_list("set-cookie"):
        pair, *attributes = header.split("; ")
        name, _, value = pair.partition("=")
        found[name] = (value, {attribute.lower() for attribute in attributes})
    return found


def add_member(workspace, person, role):
    with workspace.writing("keys") as cursor:
        cursor.execute(
            "insert into members (workspace_id, kind, id, role, added_by)"
            " values (%s, 'person', %s, %s, 'test')",
            (workspace.workspace, person, role),
        )


async def slugs(browser):
    return [each["slug"] for each in (await browser.get("/auth/session")).json()["workspaces"]]


@pytest.fixture
def people(postgres):
    threads = Threads()
    yield PostgresPeople(postgres, threads)
    threads.close()


@pytest.fixture
def site(people, oidc):
    return Site(people, oidc.issuer)


async def test_person_logs_in_and_out(site, oidc, workspace):
    person = new_person()
    async with site.browser() as browser:
        assert (await browser.get("/auth/session")).status_code == 401
        response = await Login(oidc, browser).finish(person, "/w/team-a/tools?q=1")
        assert (response.status_code, response.headers["location"]) == (303, "/w/team-a/tools?q=1")
        shown = (await browser.get("/auth/session")).json()
        assert shown["person"] | {"id": ""} == {"id": "", "name": "Anna", "email": "anna@example.com"}
        assert shown["workspaces"] == []
        add_member(workspace, shown["person"]["id"], "maker")
        (listed,) = (await browser.get("/auth/session")).json()["workspaces"]
        assert listed["roles"] == ["maker"]
        assert (await browser.post("/auth/logout", headers=OWN_PAGE)).status_code == 204
        assert dict(browser.cookies) == {}
        assert (await browser.get("/auth/session")).status_code == 401


async def test_cookies_are_out_of_reach_for_scripts_and_other_sites(people, oidc):
    site = Site(people, oidc.issuer)
    async with site.browser() as browser:
        begun = await browser.get("/auth/login")
        ((name, (_, attributes)),) = cookies_of(begun).items()
        assert name == "onetool-login"
        assert attributes == {"httponly", f"max-age={ATTEMPT_S}", "path=/", "samesite=lax"}
        set_ = cookies_of(await Login(oidc, browser).finish(new_person(), "/w/a/"))
        assert set_["onetool-login"] == ('""', {"httponly", "max-age=0", "path=/", "samesite=lax"})
        value, attributes = set_["onetool-session"]
        assert attributes == {"httponly", f"max-age={SESSION_S}", "path=/", "samesite=lax"}
        assert re.fullmatch(r"ots_[\w-]{43}", value)


async def test_cookies_of_https_are_bound_to_the_host(people, oidc):
    site = Site(people, oidc.issuer, url="https://localhost")
    async with site.browser() as browser:
        begun = cookies_of(await browser.get("/auth/login"))
        assert begun.keys() == {"__Host-onetool-login"}
        assert begun["__Host-onetool-login"][1] >= {"secure", "path=/"}
        finished = cookies_of(await Login(oidc, browser).finish(new_person(), "/w/a/"))
        assert finished["__Host-onetool"][1] >= {"secure", "httponly", "samesite=lax", "path=/"}
        assert (await browser.get("/auth/session")).status_code == 200


async def test_any_server_can_finish_a_login(people, oidc, site):
    other = Site(people, oidc.issuer)
    async with site.browser() as browser, other.browser(cookies=browser.cookies) as same_browser:
        back = await Login(oidc, browser).authorize(new_person(), "/w/a/")
        same_browser.cookies = browser.cookies
        assert (await same_browser.get(back)).headers["location"] == "/w/a/"


@pytest.mark.parametrize(
    "next",
    [
        "https://attacker.example", "//attacker.example", "/w//attacker.example", "/w/\\attacker.example",
        "\\\\attacker.example", "/\\attacker.example", "/auth/logout", "/", "w/team", "/w", "/w/a b",
        "/w/a\r\nSet-Cookie: x=y", "/w/a\tb", "/w/ä", "/w/" + "a" * 2_001, "javascript:alert(1)",
        "/w/../..//attacker.example", " /w/a", "/w/a\0",
    ],
)  # fmt: skip
async def test_login_leads_to_no_other_server(site, next):
    async with site.browser() as browser:
        response = await browser.get("/auth/login", params={"next": next}, headers=PAGE)
        assert response.status_code == 400
        assert "location" not in response.headers
        assert not cookies_of(response)


async def test_path_after_the_login_cannot_be_changed_on_the_way(site, oidc):
    async with site.browser() as browser:
        back = await Login(oidc, browser).authorize(new_person(), "/w/a/")
        response = await browser.get(f"{back}&next=https://attacker.example")
        assert response.headers["location"] == "/w/a/"


def change_byte(cookie, position):
    raw = bytearray(base64.urlsafe_b64decode(cookie + "=="))
    raw[position] ^= 1
    return base64.urlsafe_b64encode(raw).decode()


@pytest.mark.parametrize(
    "change",
    [
        lambda cookie: change_byte(cookie, 0),
        lambda cookie: change_byte(cookie, len(cookie) // 2),
        lambda cookie: change_byte(cookie, -1),
        lambda cookie: cookie[:9],
        lambda cookie: "AAAA!",
        lambda cookie: "",
    ],
    ids=["first", "middle", "last", "cut", "garbage", "empty"],
)
async def test_changed_login_cookie_is_refused(site, oidc, change):
    async with site.browser() as browser:
        back = await Login(oidc, browser).authorize(new_person())
        cookie = change(browser.cookies["onetool-login"])
    async with site.browser(headers={"Cookie": f"onetool-login={cookie}"}) as changed:
        response = await changed.get(back, headers=PAGE)
        assert response.status_code == 400
        assert "has begun no login here" in response.text
        assert cookies_of(response).keys() == {"onetool-login"}


async def test_login_cookie_of_another_installation_is_refused(site, people, oidc):
    other = Site(people, oidc.issuer, ring=KeyRing({"one": b"2" * 32}))
    async with site.browser() as browser, other.browser() as elsewhere:
        back = await Login(oidc, browser).authorize(new_person())
        elsewhere.cookies = browser.cookies
        assert (await elsewhere.get(back)).status_code == 400


@pytest.mark.guards("person-login")
async def test_login_of_another_browser_is_refused(site, oidc):
    """Else an attacker could log a victim in as themselves, and read what the victim then does."""
    async with site.browser() as attacker, site.browser() as victim:
        back = await Login(oidc, attacker).authorize(new_person())
        response = await victim.get(back, headers=PAGE)
        assert response.status_code == 400
        await Login(oidc, victim).begin()  # also if the victim has begun a login
        response = await victim.get(back, headers=PAGE)
        assert "belongs to another login" in response.text
        assert "onetool-session" not in cookies_of(response)


@pytest.mark.guards("person-login")
async def test_callback_works_once(site, oidc):
    async with site.browser() as browser:
        back = await Login(oidc, browser).authorize(new_person(), "/w/a/")
        cookie = browser.cookies["onetool-login"]
        assert (await browser.get(back)).status_code == 303
        assert "onetool-login" not in browser.cookies
        assert (await browser.get(back)).status_code == 400
    async with site.browser(headers={"Cookie": f"onetool-login={cookie}"}) as thief:
        response = await thief.get(back, headers=PAGE)
        assert "it was used" in response.text
        assert "onetool-session" not in cookies_of(response)


async def test_login_must_be_finished_in_time(site, oidc):
    async with site.browser() as browser:
        back = await Login(oidc, browser).authorize(new_person())
        site.now += ATTEMPT_S + 1
        assert "in the last 10 minutes" in (await browser.get(back)).json()["detail"]


async def test_every_login_begins_a_new_session_and_ends_the_one_before(site, oidc, people):
    """A session that someone else has put into the browser does not become that of the person."""
    async with site.browser() as attacker:
        await Login(oidc, attacker).finish(new_person(name="Mallory"), "/w/a/")
        planted = attacker.cookies["onetool-session"]
        async with site.browser(cookies={"onetool-session": planted}) as victim:
            response = await Login(oidc, victim).finish(new_person(name="Anna"), "/w/a/")
            session = cookies_of(response)["onetool-session"][0]
            assert session != planted
            assert (await site.sessions.find(session)).name == "Anna"
        assert (await attacker.get("/auth/session")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": PUBLIC_URL},
        {"X-OneTool": "1"},
        OWN_PAGE | {"Sec-Fetch-Site": "cross-site"},
        OWN_PAGE | {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
async def test_other_sites_cannot_log_a_person_out(site, oidc, headers):
    async with site.browser() as browser:
        await Login(oidc, browser).finish(new_person(), "/w/a/")
        response = await browser.post("/auth/logout", headers=headers)
        assert response.status_code == 403
        assert not cookies_of(response)
        assert (await browser.get("/auth/logout")).status_code == 405
        assert (await browser.get("/auth/session")).status_code == 200


async def test_other_sites_cannot_ask_who_is_logged_in(site, oidc):
    async with site.browser() as browser:
        await Login(oidc, browser).finish(new_person(), "/w/a/")
        response = await browser.get("/auth/session", headers={"Sec-Fetch-Site": "cross-site"})
        assert response.status_code == 403
        assert "Anna" not in response.text


async def test_refusal_of_the_provider_is_shown_as_text(site, oidc):
    person = new_person(refuse="<script>alert(1)</script>")
    async with site.browser() as browser:
        response = await Login(oidc, browser).finish(person)
        assert response.status_code == 400
        assert "access_denied (&lt;script&gt;" in response.text
        assert "<script" not in response.text
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert response.headers["referrer-policy"] == "no-referrer"
        assert CLIENT["client_secret"] not in response.text


async def test_disabled_person_cannot_log_in(site, oidc, people):
    person = new_person()
    async with site.browser() as browser:
        await Login(oidc, browser).finish(person, "/w/a/")
        id = (await browser.get("/auth/session")).json()["person"]["id"]
    await people.disable(id)
    async with site.browser() as browser:
        response = await Login(oidc, browser).finish(person)
        assert response.status_code == 403
        assert "You cannot log in here any more" in response.text
        assert "onetool-session" not in cookies_of(response)


async def test_parameter_that_occurs_twice_is_refused(site, oidc):
    async with site.browser() as browser:
        back = urlsplit(await Login(oidc, browser).authorize(new_person()))
        query = urlencode([*parse_qsl(back.query), ("iss", "https://attacker.example")])
        assert (await browser.get(f"{back.path}?{query}")).status_code == 400
    async with site.browser() as browser:
        assert (await browser.get("/auth/login", params={"next": "/w/" + "a" * 20_000})).status_code == 414


async def test_without_a_path_the_person_comes_to_the_only_workspace_or_chooses(
    site, oidc, postgres, postgres_url
):
    person = new_person()
    async with site.browser() as browser:
        assert "You have no workspace yet" in (await Login(oidc, browser).finish(person)).text
        id = (await browser.get("/auth/session")).json()["person"]["id"]
        first, second = (new_workspace(postgres, postgres_url) for _ in range(2))
        add_member(first, id, "caller")
        (slug,) = await slugs(browser)
        assert (await Login(oidc, browser).finish(person)).headers["location"] == f"/w/{slug}/"
        add_member(second, id, "caller")
        with psycopg.connect(postgres_url) as connection:
            connection.execute("update home.workspaces set name = '<b>' where id = %s", (first.workspace,))
        page = (await Login(oidc, browser).finish(person)).text
        assert f'<a href="/w/{slug}/">&lt;b&gt;</a>' in page
        assert all(f"/w/{slug}/" in page for slug in await slugs(browser))


async def test_unknown_paths_and_methods_are_refused(site):
    async with site.browser() as browser:
        assert (await browser.get("/auth/other")).status_code == 404
        response = await browser.post("/auth/login")
        assert (response.status_code, response.headers["allow"]) == (405, "GET")
