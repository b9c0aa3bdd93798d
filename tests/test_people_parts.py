"""What logs people in: settings from the environment, and sessions that stay in memory for some seconds."""

from datetime import timedelta
from uuid import uuid4

import pytest

from onetool.bootstrap.login_settings import login_settings
from onetool.bootstrap.lookup_slots import LookupSlots
from onetool.bootstrap.people import SESSION_CACHE_S, BrowserSessions
from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.domain.identity.person import Identity
from onetool.storage.postgres.people import PostgresPeople
from onetool.threads import Threads

HOUR = timedelta(hours=1)
RIGHT = {
    "ONETOOL_OIDC_ISSUER": "https://login.example.com/realms/a",
    "ONETOOL_OIDC_CLIENT_ID": "onetool",
    "ONETOOL_PUBLIC_URL": "https://tools.example.com/",
}


@pytest.fixture
def people(postgres):
    threads = Threads()
    yield PostgresPeople(postgres, threads)
    threads.close()


async def new_session(people):
    person = await people.sign_in(Identity("https://login.example", f"sub-{uuid4().hex}"))
    return await people.begin_session(person, HOUR)


async def test_session_stays_in_memory_for_some_seconds_but_not_after_a_logout(people):
    now = 0.0
    sessions = BrowserSessions(people, lambda: "ok", LookupSlots(), lambda: now)
    ended_elsewhere, ended_here = await new_session(people), await new_session(people)
    assert await sessions.find(ended_elsewhere)
    assert await sessions.find(ended_here)
    await sessions.end(ended_here)
    assert await sessions.find(ended_here) is None
    await people.end_session(ended_elsewhere)
    now += SESSION_CACHE_S - 1
    assert await sessions.find(ended_elsewhere)
    now += 1
    assert await sessions.find(ended_elsewhere) is None


async def test_session_that_ends_while_it_is_looked_up_is_not_remembered(people):
    secret = await new_session(people)

    class EndsOnce(PostgresPeople):
        """The session ends before the answer to the first lookup arrives."""

        async def find_session(self, text):
            found = await people.find_session(text)
            await sessions.end(text)
            return found

    sessions = BrowserSessions(EndsOnce(people._database, people._threads), lambda: "ok", LookupSlots())
    await sessions.find(secret)
    assert await sessions.find(secret) is None


async def test_known_session_is_refused_when_the_database_was_away_for_too_long(people):
    status = "ok"
    sessions = BrowserSessions(people, lambda: status, LookupSlots())
    secret = await new_session(people)
    assert await sessions.find(secret)
    status = "degraded"
    assert await sessions.find(secret)
    status = "unavailable"
    with pytest.raises(StoreUnavailable, match="is not known"):
        await sessions.find(secret)


def test_without_variables_people_do_not_log_in():
    assert login_settings({}) is None
    assert login_settings({"ONETOOL_PUBLIC_URL": "https://tools.example.com"}) is None


def test_settings_of_the_login():
    public_url, provider, issuers, clients = login_settings(RIGHT)
    assert (issuers, clients) == ((), None)
    assert public_url == "https://tools.example.com"
    assert provider.redirect_uri == "https://tools.example.com/auth/callback"
    assert (provider.scopes, provider.groups_claim, provider.client_secret) == (
        "openid profile email",
        "",
        "",
    )
    more = {
        "ONETOOL_OIDC_CLIENT_SECRET": "hunter2",
        "ONETOOL_OIDC_GROUPS_CLAIM": "roles",
        "ONETOOL_OIDC_SCOPES": "openid groups",
    }
    provider = login_settings(RIGHT | more).provider
    assert (provider.scopes, provider.groups_claim, provider.client_secret) == (
        "openid groups",
        "roles",
        "hunter2",
    )


def test_issuers_of_access_tokens():
    issuers = "https://a.example, https://b.example/x ,"
    found = login_settings(RIGHT | {"ONETOOL_JWT_ISSUERS": issuers}).token_issuers
    assert found == ("https://a.example", "https://b.example/x")
    for wrong in ("http://a.example", "https://a.example, b.example", "https://a.example?x=1"):
        with pytest.raises(SettingsError, match="ONETOOL_JWT_ISSUERS"):
            login_settings(RIGHT | {"ONETOOL_JWT_ISSUERS": wrong})


def test_authorization_server_is_off_unless_it_is_switched_on():
    off = {"ONETOOL_AUTHORIZATION_SERVER": "off", "ONETOOL_CLIENT_REGISTRATION": "off"}
    assert login_settings(off) is None
    assert login_settings(RIGHT | off).clients is None
    on = {"ONETOOL_AUTHORIZATION_SERVER": "on"}
    assert login_settings(RIGHT | on).clients == (False, ())
    more = {"ONETOOL_CLIENT_REGISTRATION": "on", "ONETOOL_CLIENT_HOSTS": "Apps.example, 10.0.0.1 ,"}
    assert login_settings(RIGHT | on | more).clients == (True, ("apps.example", "10.0.0.1"))
    for wrong in (
        {"ONETOOL_AUTHORIZATION_SERVER": "yes"},
        {"ONETOOL_CLIENT_REGISTRATION": "on"},
        {"ONETOOL_CLIENT_HOSTS": "apps.example"},
        on | {"ONETOOL_CLIENT_REGISTRATION": "true"},
        on | {"ONETOOL_PUBLIC_URL": "http://tools.example.com"},
    ):
        with pytest.raises(SettingsError, match="ONETOOL_"):
            login_settings(RIGHT | wrong)
    with pytest.raises(SettingsError, match="ONETOOL_OIDC_ISSUER"):
        login_settings(on)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ONETOOL_OIDC_ISSUER", ""),
        ("ONETOOL_OIDC_ISSUER", "login.example.com"),
        ("ONETOOL_OIDC_ISSUER", "http://login.example.com"),
        ("ONETOOL_OIDC_ISSUER", "https://user:hunter2@login.example.com"),
        ("ONETOOL_OIDC_ISSUER", "https://login.example.com?a=b"),
        ("ONETOOL_OIDC_ISSUER", "https://login.example.com#a"),
        ("ONETOOL_OIDC_ISSUER", "https://[login"),
        ("ONETOOL_OIDC_CLIENT_ID", ""),
        ("ONETOOL_OIDC_SCOPES", "profile email"),
        ("ONETOOL_OIDC_SCOPES", "openid  email"),
        ("ONETOOL_PUBLIC_URL", ""),
        ("ONETOOL_PUBLIC_URL", "tools.example.com"),
        ("ONETOOL_PUBLIC_URL", "https://tools.example.com/onetool"),
        ("ONETOOL_PUBLIC_URL", "https://user:hunter2@tools.example.com"),
        ("ONETOOL_PUBLIC_URL", "https://tools.example.com:99999"),
        ("ONETOOL_PUBLIC_URL", "ftp://tools.example.com"),
    ],
)
def test_wrong_variable_is_named_and_no_password_is_shown(name, value):
    with pytest.raises(SettingsError, match=name) as caught:
        login_settings(RIGHT | {"ONETOOL_OIDC_CLIENT_SECRET": "hunter2", name: value})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "issuer", ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:1", "https://10.0.0.1"]
)
def test_issuer_may_be_on_this_machine_or_in_a_private_network(issuer):
    assert login_settings(RIGHT | {"ONETOOL_OIDC_ISSUER": issuer}).provider.issuer == issuer
