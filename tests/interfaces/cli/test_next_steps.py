"""Messages of commands say which command comes next."""

import json

import pytest

from bundles.openapi_documents import PETSTORE
from support.onetool_process import on_a_terminal, onetool

PROFILES = "profiles: {ro: {approval: {mode: deny}}, part: {packs: [time]}}\n"
NEEDY = '''
from onetool.sdk import requires_secret


@requires_secret("WEATHER_KEY")
def ask() -> str:
    """Ask."""
    return ""
'''


def test_a_missing_secret_is_set_with_a_command_and_a_present_one_needs_nothing(home):
    home.write("tools/needy.py", NEEDY)
    missing = onetool("check", "needy", "--json")
    assert missing.returncode == 1
    assert json.loads(missing.stdout)[0]["install"] == "onetool secrets set WEATHER_KEY"
    onetool("secrets", "set", "WEATHER_KEY", stdin="s3cret-value")
    present = json.loads(onetool("check", "needy", "--json").stdout)
    assert [(need["status"], need["install"]) for need in present] == [("ok", "")]


def test_the_line_that_reads_a_secret_is_named_where_people_look_for_it(home):
    """The line of `secrets set` works when it is copied into the function of a new pack."""
    stored = onetool("secrets", "set", "WEATHER_KEY", stdin="s3cret-value").stdout
    (line,) = [
        line.partition("In a pack:")[2].strip() for line in stored.splitlines() if "In a pack:" in line
    ]
    assert onetool("scaffold", "pack", "weather").returncode == 0
    file = home.config / "tools/weather.py"
    statement, _, call = line.partition("; ")
    for text in (statement, call):
        assert text in file.read_text()
    assert call.replace("WEATHER_KEY", "NAME") in onetool("secrets", "--help").stdout
    code = file.read_text() + f"\n\ndef size() -> int:\n    {statement}\n    return len({call})\n"
    file.write_text(code)
    assert onetool("run", "weather.size()").stdout.strip() == str(len("s3cret-value"))


def test_a_rule_that_replaces_another_one_says_so(home):
    """And it counts for the next call."""
    assert "Removed" not in onetool("deny", "time.now").stdout
    refused = onetool("call", "time.now")
    assert (refused.returncode, "approval.deny" in refused.stdout) == (1, True)
    allowed = onetool("allow", "time.now").stdout
    assert "Added 'time.now' to approval.allow. Removed it from approval.deny." in allowed
    assert "next call" in allowed


@pytest.mark.parametrize(
    ("profile", "text"),
    [(None, "MCP clients can call every tool:"), ("part", "every tool of profile part:"), ("ro", None)],
)
def test_a_new_client_is_described_as_its_profile_restricts_it(home, monkeypatch, profile, text):
    monkeypatch.setenv("HOME", str(home.root))
    home.write("onetool.yaml", PROFILES)
    options = ["--profile", profile] if profile else []
    done = onetool("mcp", "install", "cursor", "--yes", *options)
    assert done.returncode == 0, done.stderr
    assert ("can call every tool" in done.stdout) == (text is not None)
    assert (text or "") in done.stdout


def test_an_import_shows_changed_names_and_commands_that_keep_other_hosts(home):
    home.write("onetool.yaml", "allowedHosts: [first.example.com]\n")
    (home.cwd / "pets.yaml").write_bytes(PETSTORE)
    imported = json.loads(onetool("bundles", "import", "openapi", "pets.yaml", "--json").stdout)
    old, new = next(iter(imported["renamed"].items()))
    shown = " ".join(on_a_terminal("bundles", "import", "openapi", "pets.yaml").split())
    assert f"{old} " in shown
    assert f".{new}" in shown
    hosts = ",".join(["first.example.com", *imported["hosts"]])
    assert f"onetool config set allowedHosts {hosts}" in shown


def test_a_server_that_never_started_is_listed_with_the_command_that_tries_it(home):
    home.write("onetool.yaml", "servers: {demo: {command: demo-server}}\n")
    shown = on_a_terminal("servers", "list")
    assert "never started" in shown
    assert "onetool servers test demo" in shown


def test_a_stored_bundle_is_enabled_without_starting_servers(home):
    """The server writes a file as soon as it starts, and never answers."""
    started = home.root / "started"
    server = {"command": "sh", "args": ["-c", f"touch {started}; sleep 600"], "sandbox": False}
    (home.cwd / "pets.yaml").write_bytes(PETSTORE)
    bundle = json.loads(onetool("bundles", "import", "openapi", "pets.yaml").stdout)["bundle"]["slug"]
    home.write("onetool.yaml", json.dumps({"servers": {"slow": server}}))
    done = onetool("bundles", "enable", bundle)
    assert done.stdout == f"{bundle} is enabled.\n", done.stderr
    assert onetool("bundles", "show", bundle).returncode == 0
    assert not started.exists()


def test_why_a_pack_was_skipped_is_said_once(home):
    home.write("tools/bad.py", "def f(:\n")
    shown = on_a_terminal("run", "bad.f()")
    assert shown.count("SyntaxError") == 1
    assert "(bad.py, line 1)" in shown
    assert "SyntaxError" in onetool("doctor").stdout


def test_status_says_once_that_nothing_runs(home):
    assert "Not running. Start it with: onetool up" in on_a_terminal("status")


def test_the_next_step_after_a_second_import_of_a_document_works(home):
    file = home.cwd / "pets.yaml"
    file.write_bytes(PETSTORE)
    first, second = (on_a_terminal("import", str(file)).split() for _ in range(2))
    assert first[-4:-1] == second[-4:-1] == ["onetool", "bundles", "enable"]
    assert "is enabled." in onetool(*second[-3:]).stdout
