"""Commands that people guess: other names work, and unknown ones are answered with the right one."""

import json
import re
import sys

import click
import pytest
from click.testing import CliRunner

from onetool.interfaces.cli.command_hints import HINTS, synonyms
from onetool.interfaces.cli.groups import CommandGroup
from onetool.interfaces.cli.main import cli
from support.onetool_process import onetool


def run(*words):
    return CliRunner().invoke(cli, list(words), prog_name="onetool")


def every_group(group=cli, path=()):
    """Yield every group of commands with its path."""
    context = click.Context(group, info_name="onetool")
    yield path, group
    for name in group.list_commands(context):
        if isinstance(command := group.get_command(context, name), click.Group):
            yield from every_group(command, (*path, name))


GROUPS = {" ".join(path): group for path, group in every_group()}


def find_command(words):
    """Return the command that a line starts, or None."""
    command = cli
    for word in words:
        if not isinstance(command, click.Group):
            return command
        if (command := command.get_command(click.Context(command), word)) is None:
            return None
    return command


def test_every_group_accepts_synonyms_and_suggests():
    assert [path for path, group in GROUPS.items() if not isinstance(group, CommandGroup)] == []


@pytest.mark.parametrize("path", GROUPS)
def test_no_group_has_two_commands_that_are_synonyms(path):
    names = GROUPS[path].list_commands(click.Context(GROUPS[path]))
    assert [name for name in names if len(set(synonyms(name)) & set(names)) > 1] == []


def test_other_names_of_a_command_work_and_are_not_listed(home):
    home.write("secrets.yaml", "A: x\nB: x\nC: x\n")
    assert [row["name"] for row in json.loads(onetool("secrets", "ls", "--json").stdout)] == ["A", "B", "C"]
    for word, name in (("rm", "A"), ("remove", "B"), ("delete", "C")):
        assert onetool("secrets", word, name).stdout == f"Deleted secret {name}.\n"
    listed = run("secrets", "--help").stdout.partition("Commands:")[2]
    assert [line.split()[0] for line in listed.split("\n  ")[1:]] == ["delete", "list", "set"]


@pytest.mark.parametrize("command", HINTS)
def test_hinted_commands_do_not_exist_and_hints_do(command):
    """Each hint is the line of a real command, with names in capitals in place of values."""
    assert find_command(command.split()) is None, "a command of this name exists: delete the hint"
    done = run(*command.split(), "x")
    assert done.exit_code == 2
    assert f"No such command {command!r}." in done.stderr
    for purpose, line in HINTS[command]:
        assert f"To {purpose}: {line}" in done.stderr
        for part in line.split(" && "):
            program, *words = part.split()
            assert program == "onetool"
            fixed = [word for word in words if not word.isupper() and "=" not in word]
            assert fixed == ["--version"] or find_command(fixed) is not None, part


def test_hints_hold_for_synonyms_too():
    assert "To list tools: onetool tools list" in run("ls").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tools", "lst"], "No such command 'tools lst'. Did you mean list?"),
        (["mcp", "instal"], "No such command 'mcp instal'. Did you mean install?"),
        (
            ["fs.list_dir", "path=."],
            "No such command 'fs.list_dir'. To call a tool: onetool call fs.list_dir",
        ),
        (["tools", "xyzzy"], "No such command 'tools xyzzy'.\n"),
    ],
)
def test_other_unknown_commands_suggest_the_nearest(words, message):
    assert message in run(*words).stderr


def test_upgrade_shows_the_commands_of_this_installation():
    """Tests run from the source code."""
    for word in ("upgrade", "update"):
        done = run(word)
        assert (done.exit_code, sys.prefix in done.stdout) == (0, True)
        assert re.search(r"^To upgrade it: +git pull && uv sync$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "words",
    [
        ["secrets", "set", "KEY", "hunter2-value"],
        ["secrets", "set", "KEY=hunter2-value"],
        ["secrets", "set", "KEY", "--hunter2-value"],
        ["secrets", "set", "KEY", "-----BEGIN PRIVATE KEY-----\nhunter2-value"],
        ["secrets", "set", "KEY", "--value", "hunter2-value"],
        ["secrets", "set", "KEY", "--value=hunter2-value"],
        ["auth", "login", "openai", "hunter2-value"],
        ["auth", "login", "openai", "--key", "hunter2-value"],
    ],
)
def test_secret_as_an_argument_is_refused_and_not_repeated(home, words):
    done = onetool(*words, stdin="other")
    assert (done.returncode, "hunter2" in done.stdout + done.stderr) == (2, False), done.stderr
    assert f"onetool {words[0]} {words[1]} {words[2].partition('=')[0]}\n" in done.stderr
    assert not (home.config / "secrets.yaml").exists()


@pytest.mark.parametrize(
    "words", [["--path", "x.zip"], ["--path=x.zip", "--force"], ["-o", "x.zip"], ["x.zip", "--force"]]
)
def test_a_path_is_accepted_as_an_argument_and_as_an_option(home, words):
    home.write("onetool.yaml", "aliases: {n: time.now}\n")
    done = onetool("export", "setup", *words)
    assert (done.returncode, (home.cwd / "x.zip").exists()) == (0, True), done.stderr
    assert run("export", "setup", "--path").exit_code == 2
    assert "--path" not in run("export", "setup", "--help").stdout


def test_the_path_as_an_option_may_precede_other_arguments(home):
    assert onetool("tools", "save", "my.now", "time.now()").returncode == 0
    assert onetool("bundles", "export", "--file", "my.zip", "my").returncode == 0
    assert onetool("bundles", "delete", "my", "--yes").returncode == 0
    imported = onetool("import", "--path", "my.zip")
    assert "Imported 1 tool. Review, then enable: onetool bundles enable my" in imported.stdout


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (("scaffold", "weather"), "To scaffold a pack: onetool scaffold pack weather"),
        (("export", "team.zip"), "To export a setup: onetool export setup team.zip"),
        (("packs", "new", "weather"), "To create a pack: onetool scaffold pack NAME"),
        (("approve", "shell.run"), "onetool config set approval.mcp ask"),
    ],
)
def test_an_incomplete_or_guessed_command_is_answered_with_the_whole_one(words, instead):
    done = run(*words)
    assert (done.exit_code, instead in done.stderr) == (2, True), done.stderr


def test_code_that_failed_is_not_the_last_one(home):
    onetool("run", "1 / 0")
    assert (
        "no code that ran without an error is recorded"
        in onetool("tools", "save", "my.now", "--from", "last").stderr
    )
