"""What is sent to a host contains no secret that the host may not have."""

import pytest

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.http.outgoing_check import OutgoingCheck
from onetool.domain.http.urls import parse_url
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.secret import Secret

KEY = Secret(name="KEY", value="s3cret-of-ann", hosts=("api.test", "*.api.test"))
NOWHERE = Secret(name="NOWHERE", value="s3cret-of-no-host", hosts=())
ANYWHERE = Secret(name="ANYWHERE", value="s3cret-of-all")


def problem(url, text, shared=(), own=(), made=()):
    credentials = CredentialSet()
    for secret in made:
        credentials.bind(secret)
    check = OutgoingCheck(shared, own, credentials, "secrets.yaml")
    found = None
    try:
        check.check(parse_url(url), text, "The POST request")
    except ExecutionError as error:
        found = error
    assert found is None or (found.reason is Reason.HOST_NOT_ALLOWED and check.is_needed(parse_url(url)))
    return str(found or "")


def test_message_names_the_secret_the_host_and_what_would_be_right():
    assert problem("https://evil.test/", f"a {KEY.value} b", [KEY]) == (
        "The POST request was not sent: it contains secret 'KEY', or what was made from it, which may not be "
        "sent to 'evil.test'. Its hosts in secrets.yaml: api.test, *.api.test. Leave it out of this request."
    )
    assert "Its hosts in secrets.yaml: none." in problem("https://api.test/", NOWHERE.value, [NOWHERE])
    hidden = problem("https://s3cret-of-ann.test/", "https://s3cret-of-ann.test/", [KEY])
    assert "sent to that host." in hidden
    assert KEY.value not in hidden


@pytest.mark.parametrize("host", ["api.test", "a.api.test", "API.test"])
def test_hosts_of_a_secret_may_have_it(host):
    assert problem(f"https://{host}/", KEY.value, [KEY]) == ""
    assert problem(f"https://{host}/", KEY.value, own=[KEY]) == ""
    assert problem(f"https://{host}/", KEY.value, made=[KEY]) == ""


def test_secret_without_hosts_may_be_sent_to_all():
    assert problem("http://evil.test/", ANYWHERE.value, [ANYWHERE]) == ""
    check = OutgoingCheck([ANYWHERE], [], CredentialSet(), "secrets.yaml")
    assert not check.is_needed(parse_url("http://evil.test/"))


def test_own_secret_is_not_sent_unencrypted_over_a_network():
    assert problem("http://api.test/", KEY.value, own=[KEY]) == (
        "The POST request was not sent: it contains secret 'KEY', or what was made from it, which is not "
        "sent to 'api.test' over http. The tool must use https."
    )
    assert problem("http://api.test/", KEY.value, [KEY]) == ""
    loopback = Secret(name="KEY", value=KEY.value, hosts=("127.0.0.1",))
    assert problem("http://127.0.0.1:1/", KEY.value, own=[loopback]) == ""


def test_what_was_made_from_a_secret_has_its_hosts_and_those_it_was_made_for():
    token = Secret(name="KEY", value="t0ken-of-ann", hosts=("api.test", "login.test"))
    again = Secret(name="KEY", value="t0ken-of-ann", hosts=("files.test",))
    for host in ("api.test", "login.test", "files.test"):
        assert problem(f"https://{host}/", token.value, made=[token, again]) == ""
    assert "'KEY'" in problem("https://evil.test/", token.value, made=[token, again])


def test_secret_within_another_that_may_be_sent_is_no_leak():
    """Two secrets may have one value, and a connection string contains a password."""
    longer = Secret(name="URL", value=f"db://ann:{KEY.value}@db", hosts=("evil.test",))
    same = Secret(name="SAME", value=KEY.value)
    assert problem("https://evil.test/", longer.value, [KEY, longer]) == ""
    assert problem("https://evil.test/", KEY.value, [KEY], own=[same]) == ""
    shorter = Secret(name="SHORT", value=KEY.value[:6])
    assert "'KEY'" in problem("https://evil.test/", KEY.value, [shorter, KEY])
