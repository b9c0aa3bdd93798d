"""The link of `onetool serve` that logs a browser in: once, only on a terminal, and unseen by other users."""

import re
import sys

import httpx2
import pytest

from interfaces.cli.ask_process import Terminal
from onetool.interfaces.cli.login_link import login_link
from onetool.interfaces.rest.auth.login_code import LIFETIME_S, LoginCode
from support.processes import wait_until

BROWSER = """#!{python}
import pathlib, sys
pathlib.Path({file!r}).write_text(sys.argv[1])
"""


def log_in(url, code):
    headers = {"X-OneTool": "1", "Origin": url}
    return httpx2.post(f"{url}/login", json={"token": code}, headers=headers, trust_env=False, verify=False)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """The file in which the browser of the user writes its argument."""
    program, file = tmp_path / "browser", tmp_path / "opened"
    program.write_text(BROWSER.format(python=sys.executable, file=str(file)))
    program.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return file


@pytest.mark.linux
def test_link_logs_in_once_and_enter_opens_it(home, opened):
    """Other users can see the arguments of the browser: they do not contain the code."""
    with Terminal("serve", "--port", "0") as terminal:
        terminal.wait_for(r"Press Enter to open it")
        url, code = re.search(r"Log in: (http://127[.]0[.]0[.]1:\d+)/#login=(\S+)", terminal.output).groups()
        terminal.type("\n")
        wait_until(opened.exists)
        page = home.state / "login.html"
        wait_until(lambda: opened.read_text() == page.as_uri())
        assert f"{url}/#login={code}" in page.read_text()
        assert page.stat().st_mode & 0o777 == 0o600
        first, second = log_in(url, code), log_in(url, code)
        assert (first.status_code, "onetool-" in first.headers["set-cookie"]) == (204, True)
        assert second.status_code == 401
    assert code not in home.log()


@pytest.mark.linux
def test_link_is_not_opened_or_offered_if_the_user_declines(home, opened):
    with Terminal("serve", "--port", "0", "--no-open") as terminal:
        terminal.wait_for("Log in: http")
        terminal.wait_for("10 minutes")
        terminal.read_available()
        assert "Press Enter" not in terminal.output
    assert not opened.exists()


def test_code_expires_and_other_texts_are_rejected():
    now = 0.0
    codes = [LoginCode(lambda: now) for _ in range(2)]
    assert [codes[0].redeem(text) for text in ("", "x", codes[1].value, "\udc80")] == [False] * 4
    now = LIFETIME_S - 1
    assert codes[0].redeem(codes[0].value)
    now = LIFETIME_S
    assert not codes[1].redeem(codes[1].value)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("fd00::5", "[fd00::5]"),
    ],
)
def test_link_has_an_address_that_a_browser_can_open(address, host):
    assert login_link(address, 80, "c") == f"http://{host}:80/#login=c"
