"""`onetool secrets` with values in the file, in the key store and in a program of the user."""

import json
import os
import subprocess
import sys

import pytest

from onetool.files.installation import extra_command
from support.onetool_process import on_a_terminal, onetool

VALUE = "hunter2-of-the-canary"
PACK = '''
from onetool.sdk import get_secret

def length(name: str) -> int:
    """Return the length of a secret, or 0."""
    return len(get_secret(name) or "")

def leak(name: str) -> str:
    """Return a secret."""
    return f"<{get_secret(name)}>"

def fail(name: str) -> str:
    """Raise an error with a secret."""
    raise ValueError(get_secret(name))
'''
FAULTY = """
import threading
from keyring.backend import KeyringBackend

class Hanging(KeyringBackend):
    priority = 1

    def get_password(self, service, name):
        threading.Event().wait()

class Talkative(KeyringBackend):
    priority = 1

    def get_password(self, service, name):
        return None

    def set_password(self, service, name, value):
        raise RuntimeError(f"cannot store {value}")

class Forgetful(Talkative):
    def set_password(self, service, name, value):
        pass
"""


@pytest.fixture
def user(home):
    """Return a user with a pack that reads secrets."""
    home.write("tools/mine.py", PACK)
    return home


@pytest.fixture
def key_store(user, monkeypatch):
    """Let secrets be in a key store: the package keyring, with a file of this test."""
    user.write("onetool.yaml", "secrets: {backend: keyring}\n")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    monkeypatch.setenv("XDG_DATA_HOME", str(user.root / "keys"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user.root / "keyring-settings"))
    return user.root / "keys" / "python_keyring" / "keyring_pass.cfg"


def listed() -> list[dict[str, object]]:
    done = onetool("secrets", "list", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def check_value_is_used_and_redacted(user, name: str, value: str = VALUE) -> None:
    """A pack reads the value. No result, error or log shows it."""
    assert onetool("run", f"mine.length(name={name!r})").stdout == f"{len(value)}\n"
    shown = [
        onetool("--log-level", "debug", "run", f"mine.{tool}(name={name!r})") for tool in ("leak", "fail")
    ]
    assert "<[secret]>" in shown[0].stdout
    texts = [onetool("config", "show").stdout, onetool("secrets", "list").stdout, json.dumps(user.log())]
    assert value not in "".join([*texts, *(text for done in shown for text in (done.stdout, done.stderr))])


def test_secret_in_the_file(user, monkeypatch):
    """Comments and other entries stay, only the user can read the file, and hosts stay until replaced."""
    file = user.write("secrets.yaml", "# mine\nOTHER: ${FROM_ENV}  # theirs\n")
    done = onetool("secrets", "set", "KEY", "--host", "a.example", "--host", "b.example", stdin=f"{VALUE}\n")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"Stored secret KEY in {file}.")
    assert file.read_text().startswith("# mine\nOTHER: ${FROM_ENV}  # theirs\nKEY: ")
    assert file.stat().st_mode & 0o777 == 0o600
    hosts = ["a.example", "b.example"]
    rows = [
        {"name": "OTHER", "source": "environment (FROM_ENV)", "hosts": None},
        {"name": "KEY", "source": "secrets.yaml", "hosts": hosts},
    ]
    assert listed() == rows
    assert onetool("secrets", "set", "KEY", stdin="new-value\r\n").returncode == 0
    assert listed() == rows
    monkeypatch.setenv("FROM_ENV", "from-env")
    check_value_is_used_and_redacted(user, "KEY", "new-value")
    assert onetool("secrets", "delete", "KEY").stdout == "Deleted secret KEY.\n"
    assert file.read_text() == "# mine\nOTHER: ${FROM_ENV}  # theirs\n"


def test_first_secret_creates_a_private_file(user):
    """A value may have several lines."""
    assert onetool("secrets", "list").stdout == "[]\n"
    assert onetool("secrets", "set", "KEY", stdin="one\ntwo\n").returncode == 0
    assert (user.config / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    assert onetool("run", "mine.length(name='KEY')").stdout == "7\n"


@pytest.mark.linux
def test_list_on_a_terminal_is_a_table(user):
    assert "onetool secrets set NAME" in on_a_terminal("secrets", "list")
    user.write("secrets.yaml", f"A: {VALUE}\nB: {{value: {VALUE}, hosts: [b.example]}}\nC:\n")
    shown = on_a_terminal("secrets", "list")
    for word in ("NAME", "any", "b.example", "missing", "secrets.yaml"):
        assert word in shown
    assert VALUE not in shown


@pytest.mark.parametrize(
    ("name", "stdin", "message"),
    [
        ("KEY", "", "The value is empty."),
        ("KEY", "\n", "The value is empty."),
        ("KEY", VALUE * 4_000, "The value is longer than 65,536 bytes."),
        ("a/b", VALUE, "'a/b' is not a name of a secret."),
        ("A B", VALUE, "'A B' is not a name of a secret."),
    ],
)
def test_unsuitable_secret_is_refused(user, name, stdin, message):
    """The message does not contain the value."""
    done = onetool("secrets", "set", name, stdin=stdin)
    assert (done.returncode, message in done.stderr) == (2, True)
    assert VALUE not in done.stderr
    assert not (user.config / "secrets.yaml").exists()


def test_deleting_an_unknown_secret_fails(user):
    user.write("secrets.yaml", f"GITHUB: {VALUE}\n")
    done = onetool("secrets", "delete", "GITHUP")
    assert done.returncode == 1
    assert done.stderr == "Error: There is no secret 'GITHUP'. Did you mean GITHUB?\n"


def test_secret_in_the_key_store(user, key_store):
    """The file has its name and its hosts, the key store its value."""
    file = user.write("secrets.yaml", "# mine\nOLD: still-in-the-file\n")
    done = onetool("secrets", "set", "KEY", "--host", "a.example", stdin=VALUE)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Stored secret KEY in the key store.")
    assert file.read_text() == '# mine\nOLD: still-in-the-file\nKEY: {"hosts": ["a.example"]}\n'
    assert "[onetool]" in key_store.read_text()
    assert listed() == [
        {"name": "OLD", "source": "secrets.yaml", "hosts": None},
        {"name": "KEY", "source": "keyring", "hosts": ["a.example"]},
    ]
    check_value_is_used_and_redacted(user, "KEY")
    check_value_is_used_and_redacted(user, "OLD", "still-in-the-file")
    assert onetool("secrets", "set", "OLD", stdin="moved-value").returncode == 0
    assert file.read_text() == '# mine\nKEY: {"hosts": ["a.example"]}\nOLD:\n'
    check_value_is_used_and_redacted(user, "OLD", "moved-value")
    assert onetool("secrets", "delete", "KEY").returncode == 0
    assert (file.read_text(), "key" in key_store.read_text()) == ("# mine\nOLD:\n", False)


def test_keys_of_chat_models_are_stored_in_the_key_store(user, key_store):
    done = onetool("auth", "login", "openai", stdin=VALUE)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Stored as OPENAI_API_KEY in the key store.")
    assert (user.config / "secrets.yaml").read_text() == "OPENAI_API_KEY:\n"
    assert onetool("auth", "logout", "openai").stdout == "Removed OPENAI_API_KEY.\n"
    assert "openai" not in key_store.read_text()


def test_value_that_is_not_in_the_key_store_is_an_error(user, key_store):
    """It names the command that fixes it, and that command works."""
    file = user.write("secrets.yaml", f"A: {VALUE}\nB:\nC: {{hosts: [c.example]}}\n")
    failed = onetool("tools", "list")
    assert failed.returncode == 2
    assert failed.stderr == "".join(
        ["Error: Invalid settings.\n"]
        + [
            f"{file}:{line}: secret {name!r} has no value in the key store. Run: onetool secrets set {name}\n"
            for line, name in ((2, "B"), (3, "C"))
        ]
    )
    for name in ("B", "C"):
        assert onetool("secrets", "set", name, stdin="x").returncode == 0
    assert onetool("tools", "list").returncode == 0


def in_new_process(
    *words: str, stdin: str = "", code: str = "", env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a new interpreter, after some code."""
    program = f"{code}\nfrom onetool.interfaces.cli.main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **(env or {})},
    )


@pytest.mark.parametrize("words", [("tools", "list"), ("secrets", "set", "A")])
def test_missing_package_is_an_error_that_says_what_to_install(user, key_store, words):
    user.write("secrets.yaml", "A:\n")
    done = in_new_process(*words, stdin=VALUE, code="import sys; sys.modules['keyring'] = None")
    assert done.returncode == 2
    assert f"the package 'keyring' is not installed. Run: {extra_command('keyring')}" in done.stderr
    assert VALUE not in done.stderr + (user.config / "secrets.yaml").read_text()


def test_package_is_not_imported_unless_a_value_is_in_the_key_store(user, key_store):
    user.write("secrets.yaml", "A: in-the-file\n")
    code = "import sys; sys.modules['keyring'] = None"
    assert in_new_process("run", "mine.length(name='A')", code=code).stdout == "11\n"


@pytest.mark.guards("record-commands")
@pytest.mark.parametrize(
    ("backend", "words", "message"),
    [
        ("keyring.backends.fail.Keyring", ("tools", "list"), "this system has no key store"),
        ("keyring.backends.fail.Keyring", ("secrets", "set", "A"), "this system has no key store"),
        ("faulty.Hanging", ("tools", "list"), "the key store did not respond within 0.05 s."),
        ("faulty.Talkative", ("secrets", "set", "A"), "the key store failed (RuntimeError)."),
        ("faulty.Forgetful", ("secrets", "set", "A"), "The key store did not store secret 'A'."),
    ],
)
def test_unusable_key_store_is_one_message(user, key_store, tmp_path, backend, words, message):
    """Nothing that the key store says is shown, and the file does not change."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "faulty.py").write_text(FAULTY)
    user.write("onetool.yaml", "secrets: {backend: keyring, timeout_s: 0.05}\n")
    if "Hanging" not in backend:
        user.write("onetool.yaml", "secrets: {backend: keyring}\n")
    user.write("secrets.yaml", "A:\n")
    env = {"PYTHON_KEYRING_BACKEND": backend, "PYTHONPATH": str(tmp_path / "modules")}
    done = in_new_process(*words, stdin=VALUE, env=env)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert VALUE not in done.stderr
    assert "Traceback" not in done.stderr
    assert (user.config / "secrets.yaml").read_text() == "A:\n"


@pytest.mark.linux
def test_secret_that_a_command_prints(user):
    """The value belongs in the other tool: `set` asks for none. `delete` removes the name."""
    vault = user.root / "vault"
    vault.mkdir()
    (vault / "KEY").write_text(f"{VALUE}\n")
    user.write("onetool.yaml", f"secrets: {{backend: command, command: [cat, '{vault}/{{name}}']}}\n")
    file = user.write("secrets.yaml", "KEY: {hosts: [a.example]}\nGIVEN: in-the-file\n")
    assert listed() == [
        {"name": "KEY", "source": "command", "hosts": ["a.example"]},
        {"name": "GIVEN", "source": "secrets.yaml", "hosts": None},
    ]
    check_value_is_used_and_redacted(user, "KEY")
    for words in (("secrets", "set", "NEW"), ("auth", "login", "openai")):
        refused = onetool(*words, stdin="other-value")
        name = "NEW" if "NEW" in words else "OPENAI_API_KEY"
        assert refused.returncode == 1
        assert f"Store the value there, and add the line `{name}:` to {file}." in refused.stderr
    assert "other-value" not in file.read_text()
    assert onetool("secrets", "delete", "KEY").returncode == 0
    assert (file.read_text(), (vault / "KEY").exists()) == ("GIVEN: in-the-file\n", True)


@pytest.mark.linux
def test_failed_command_is_reported_and_stops_nothing_else(user):
    """Whatever needs the secret says why it is unavailable. Another key is not used instead."""
    script = f"echo {VALUE} >&2; test $1 = GOOD && echo good-value"
    command = json.dumps(["sh", "-c", script, "sh", "{name}"])
    needs_it = "servers: {s: {command: cat, env: {KEY: '${OPENAI_API_KEY}'}}}"
    user.write("onetool.yaml", f"secrets: {{backend: command, command: {command}}}\n{needs_it}\n")
    user.write("secrets.yaml", "OPENAI_API_KEY:\nGOOD:\n")
    reason = "'sh' failed with exit code 1"
    env = {**os.environ, "OPENAI_API_KEY": "sk-of-the-environment"}
    done = onetool("run", "mine.length(name='GOOD')")
    assert (done.stdout, "secret 'OPENAI_API_KEY' is unavailable" in done.stderr) == ("10\n", True)
    asked = onetool("ask", "--provider", "openai", "hi", env=env)
    assert f"Secret 'OPENAI_API_KEY' is unavailable: {reason}." in asked.stderr
    problems = json.loads(onetool("doctor", "--json").stdout)
    messages = [problem["message"] for problem in problems if problem["status"] == "problem"]
    assert f"Secret 'OPENAI_API_KEY' is unavailable: {reason}." in messages
    assert any("Server 's'" in message and reason in message for message in messages)
    assert VALUE not in json.dumps([problems, user.log(), done.stderr, asked.stderr])
