"""The files in `deploy` are valid, and start only commands that exist. The chart has tests of its own."""

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from onetool.interfaces.cli.main import cli
from support.paths import PROJECT

DEPLOY = PROJECT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
OURS = {name: service for name, service in COMPOSE["services"].items() if service.get("build")}
VARIABLE = re.compile(r"\$\{(\w+)")
ONETOOL_VARIABLE = re.compile(r"ONETOOL_[A-Z_]+[A-Z]")
OF_FILES = {
    "ONETOOL_ALLOW_HOST",
    "ONETOOL_DOMAIN",
    "ONETOOL_DRILL_AGE_S",
    "ONETOOL_DRILL_CLUSTER",
    "ONETOOL_DRILL_DATABASE",
    "ONETOOL_DRILL_S",
    "ONETOOL_SERVER_PASSWORD",
    "ONETOOL_WORKER_PASSWORD",
}
"""Variables of the files in `deploy`, which OneTool does not read."""


class Unit(configparser.RawConfigParser):
    """A unit of systemd, in which keys have capitals and may be repeated."""

    def __init__(self, path: Path) -> None:
        super().__init__(strict=False)
        self.optionxform = str  # type: ignore[assignment,method-assign]
        self.read(path, encoding="utf-8")


def check_command(words: list[str]) -> None:
    """Parse the words as the command line does, without running the command."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]!r}"
        command, words = found, words[1:]
    command.make_context("onetool", [re.sub(r"\$\{\w+.*?\}|%i", "1", word) for word in words])


@pytest.mark.parametrize("name", OURS)
def test_service_starts_a_command_that_exists(name):
    check_command(OURS[name]["command"])


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_unit_starts_a_command_that_exists(unit):
    program, *words = Unit(unit)["Service"]["ExecStart"].split()
    assert program.endswith("/onetool")
    check_command(words)


def test_variables_of_the_services_are_in_the_example():
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    example = (DEPLOY / "hosted.env.example").read_text(encoding="utf-8")
    assert set(VARIABLE.findall(text)) == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_onetool_reads_the_variables_that_are_set():
    texts = [path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*") if path.is_file()]
    named = {name for text in texts for name in ONETOOL_VARIABLE.findall(text)}
    sources = [path.read_text(encoding="utf-8") for path in (PROJECT / "src").rglob("*.py")]
    assert "ONETOOL_POOLED_DATABASE_URL" in named
    assert named - OF_FILES == named & {name for text in sources for name in ONETOOL_VARIABLE.findall(text)}


def test_only_the_migration_has_the_password_of_the_owner():
    """A server that is taken over can read one workspace at a time, and change no table."""
    for name, service in OURS.items():
        assert ("POSTGRES_PASSWORD" in str(service["environment"])) == (name == "migrate")


def test_mounted_files_exist():
    mounts = [mount for service in COMPOSE["services"].values() for mount in service.get("volumes", ())]
    files = [mount.split(":")[0] for mount in mounts if mount.startswith("./")]
    assert files
    assert [file for file in files if not (DEPLOY / file).is_file()] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_accepts_the_unit(unit, tmp_path):
    for path in UNITS:
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", path.read_text(encoding="utf-8"), flags=re.M)
        (tmp_path / path.name.replace("@.", "@8765.")).write_text(text, encoding="utf-8")
    path = tmp_path / unit.name.replace("@.", "@8765.")
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, str(tmp_path) in checked.stderr) == (0, False), checked.stderr


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed")
def test_compose_accepts_the_services(tmp_path):
    example = (DEPLOY / "hosted.env.example").read_text(encoding="utf-8")
    (tmp_path / "hosted.env").write_text(re.sub(r"=$", "=x", example, flags=re.M), encoding="utf-8")
    options = ["--file", str(DEPLOY / "compose.yaml"), "--env-file", str(tmp_path / "hosted.env")]
    accept("docker-compose", *options, "config", "--quiet")


@pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is not installed")
def test_caddy_accepts_the_proxy(tmp_path):
    variables = {"ONETOOL_DOMAIN": "tools.example.com", "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    accept("caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile"), **variables)


def accept(*command: str, **variables: str) -> None:
    """Run a program that checks a file, and fail with its output."""
    checked = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
