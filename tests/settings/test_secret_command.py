"""`secrets.backend: command`: values that a program prints."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from onetool.bootstrap import open_runtime
from onetool.domain.errors import SettingsError
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.settings.schema import SecretsSettings
from onetool.settings.secret_command import MAX_PARALLEL, MAX_VALUE_BYTES
from onetool.settings.secrets import Secrets, load_secrets
from support.waiting import HANG_S, until

pytestmark = pytest.mark.linux
CANARY = "hunter2-of-the-vault"
NO_NAME = "secrets: no argument of `command` contains {name}, the name of the secret."


def shell(script: str) -> list[str]:
    """Return a command that runs a script. The name of the secret is its `$1`."""
    return ["sh", "-c", script, "sh", "{name}"]


def load(home, text: str, command: list[str], timeout_s: float = HANG_S) -> Secrets:
    settings = SecretsSettings(backend="command", command=tuple(command), timeout_s=timeout_s)
    return load_secrets(home.write("secrets.yaml", text), {"FROM_ENV": "env"}, settings)


def values(secrets: Secrets) -> dict[str, str]:
    return {name: secret.value for name, secret in secrets.items()}


def test_command_prints_the_values_that_are_not_in_the_file(home):
    """Values in the file count, so that secrets can be moved one at a time. Hosts are in the file."""
    text = "A:\nB: {hosts: [api.example]}\nC: in-file\nD: ${FROM_ENV}\n"
    secrets = load(home, text, ["echo", "value-of-{name}"])
    assert values(secrets) == {"A": "value-of-A", "B": "value-of-B", "C": "in-file", "D": "env"}
    assert list(secrets) == ["A", "B", "C", "D"]
    assert secrets["B"].hosts == ("api.example",)
    assert set(values(secrets).values()) <= set(secrets.redacted)
    assert not secrets.unavailable


def test_no_command_runs_if_all_values_are_in_the_file(home):
    assert values(load(home, "A: one\n", ["missing-program", "{name}"])) == {"A": "one"}


def test_one_line_end_is_removed(home):
    lines = load(home, "A:\nB:\n", shell(r"test $1 = A && printf ' a\n\n' || printf 'b\r\n'"))
    assert values(lines) == {"A": " a\n", "B": "b"}


def test_no_shell_reads_the_arguments(home):
    assert values(load(home, "A:\n", ["echo", "$(id); {name} > owned"])) == {"A": "$(id); A > owned"}


def test_command_runs_in_the_directory_of_the_settings(home):
    """Files of a project in the working directory cannot change what it does."""
    assert values(load(home, "A:\n", shell("pwd"))) == {"A": str(home.config)}


@pytest.mark.guards("record-commands")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (f"echo {CANARY}; echo {CANARY} >&2; exit 3", "'sh' failed with exit code 3"),
        (f"echo {CANARY} >&2", "'sh' printed nothing"),
        (f"printf '{CANARY}\\377'", "'sh' did not print UTF-8 text"),
        (f"yes {CANARY}", f"'sh' printed more than {MAX_VALUE_BYTES:,} bytes"),
    ],
)
def test_failed_command_is_one_unavailable_secret(home, capfd, script, reason):
    """Other secrets have their values. Nothing that the command printed is shown."""
    secrets = load(home, "BAD:\nGOOD:\n", shell(f'test "$1" = GOOD && echo fine || {{ {script}; }}'))
    assert values(secrets) == {"GOOD": "fine"}
    assert secrets.unavailable == {"BAD": reason}
    assert secrets.names == {"BAD", "GOOD"}
    assert CANARY not in f"{secrets!r} {secrets.unavailable} {capfd.readouterr()}"


def test_output_at_the_limit_is_a_value(home):
    script = f"head -c {MAX_VALUE_BYTES} /dev/zero | tr '\\0' x"
    assert len(load(home, "A:\n", shell(script))["A"].value) == MAX_VALUE_BYTES


@pytest.mark.guards("record-commands")
def test_hanging_command_ends(home):
    """A command that ignores requests to end, and one that has closed its output."""
    script = "trap '' TERM HUP; test $1 = CLOSED && exec >&-; while :; do sleep 600; done"
    secrets = load(home, "OPEN:\nCLOSED:\n", shell(script), timeout_s=0.05)
    assert secrets.unavailable == dict.fromkeys(("OPEN", "CLOSED"), "'sh' did not end within 0.05 s")


async def test_what_a_refused_command_has_started_ends_too(home):
    script = f"sleep 600 & echo $! > '{home.cwd}/pid'; yes"
    assert list(load(home, "A:\n", shell(script)).unavailable) == ["A"]
    pid = int((home.cwd / "pid").read_text())
    await until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_few_commands_run_at_the_same_time(home):
    """The first ones wait for each other. Each counts those that run, and never finds more than the limit."""
    started, running, counts = (home.cwd / name for name in ("started", "running", "counts"))
    started.mkdir()
    running.mkdir()
    script = f"""
        touch '{running}'/$1 '{started}'/$1
        while test $(ls '{started}' | wc -l) -lt {MAX_PARALLEL}; do sleep 0.01; done
        ls '{running}' | wc -l >> '{counts}'
        rm '{running}'/$1
        echo x
    """
    names = [f"S{number}" for number in range(3 * MAX_PARALLEL)]
    secrets = load(home, "".join(f"{name}:\n" for name in names), shell(script))
    assert list(secrets) == names
    assert max(map(int, counts.read_text().split())) <= MAX_PARALLEL


def test_command_that_cannot_be_started_is_an_error_of_the_settings(home):
    """The message does not contain the arguments, which may be credentials."""
    with pytest.raises(SettingsError) as caught:
        load(home, "A:\n", ["missing-program", f"--token={CANARY}", "{name}"])
    assert str(caught.value) == (
        "secrets.command: cannot start 'missing-program': No such file or directory. "
        "Use an absolute path or a command on PATH."
    )


@pytest.mark.guards("record-commands")
@pytest.mark.parametrize("name", ["--help", "../other", "a b", ".hidden", ""])
def test_name_that_could_be_an_option_or_a_path_is_refused(home, name):
    with pytest.raises(SettingsError, match=r"is not a name of a secret"):
        load(home, f"{name!r}:\n", shell(f"touch '{home.cwd}/ran'"))
    assert not (home.cwd / "ran").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{backend: command}", "secrets: `backend: command` needs a `command`."),
        (
            "{command: [op, read]}",
            NO_NAME,
        ),
        (
            "{command: ['{name}']}",
            NO_NAME,
        ),
        ("{command: op read}", "secrets.command: should be a list"),
        ("{backend: vault}", "secrets.backend: should be file, keyring or command, not 'vault'."),
    ],
)
def test_invalid_settings_are_refused(home, text, problem):
    home.write("onetool.yaml", f"secrets: {text}\n")
    with pytest.raises(SettingsError) as caught:
        load_configuration(find_paths(home.env, home.cwd), {})
    assert problem in str(caught.value)


def test_credential_in_the_command_is_redacted(home):
    home.write("onetool.yaml", f"secrets: {{command: [vault, --token={CANARY}, '{{name}}']}}\n")
    assert CANARY in load_configuration(find_paths(home.env, home.cwd), {}).credentials


async def test_commands_do_not_block_the_event_loop(home):
    """The command ends only if the event loop runs while it is waited for."""
    started, release = home.cwd / "started", home.cwd / "release"
    script = f"touch '{started}'; while ! test -e '{release}'; do sleep 0.01; done; echo {CANARY}"
    home.write("secrets.yaml", "A:\n")
    settings = {"backend": "command", "command": shell(script)}
    home.write("onetool.yaml", json.dumps({"secrets": settings}))
    paths = find_paths(home.env, home.cwd)

    async def allow() -> None:
        await until(started.exists)
        release.touch()

    allowing = asyncio.ensure_future(allow())
    async with open_runtime(lambda: load_configuration(paths, os.environ)) as runtime:
        assert runtime.state.configuration.secrets["A"].value == CANARY
    await allowing
