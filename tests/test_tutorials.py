"""Each tutorial is followed by somebody who has the built wheel and an empty directory, and nothing else."""

import re
import socket
import sys
import time
from pathlib import Path

import pytest

from doc_blocks import blocks, pattern
from installed import ROOT, SYSTEM, Shell, environment, needs_uv, shell_of, uv, wheel

TUTORIALS = {
    "assistant": "assistant",
    "http-api": "http_api",
    "python-function": "python_function",
}
LONGEST_S = 60.0
PORTS = ("8765", "8600")
"""Those that pages show; each gets one that is free."""


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def follow(page: Path, shell: Shell) -> None:
    """Do what the page says: save its files, and type its commands exactly as they stand there."""
    ports = {port: free_port() for port in PORTS}

    def here(text: str) -> str:
        return re.sub("|".join(PORTS), lambda port: ports[port[0]], text)

    for language, marks, text in blocks(page):
        if "file" in marks:
            shell.write(marks["file"], here(text))
            continue
        assert language == "console", (page.name, language, text)
        for part in re.split(r"^\$ ", here(text), flags=re.M)[1:]:
            command, expected = re.fullmatch(r"((?:.*\\\n)*.*)\n?([\s\S]*)", part).groups()
            printed, _ = shell.type(command)
            assert re.fullmatch(pattern(expected.rstrip()) + r"\s*", printed), (command, printed)


@needs_uv
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_works_as_written_within_a_minute(name, tmp_path, tmp_path_factory):
    """Every command shows what the page shows, at a terminal."""
    installed = environment(tmp_path_factory)
    began = time.monotonic()
    with shell_of(installed, tmp_path / "home") as shell:
        follow(ROOT / "docs" / "tutorial" / f"{name}.md", shell)
    assert time.monotonic() - began < LONGEST_S


@pytest.mark.parametrize(("name", "folder"), TUTORIALS.items())
def test_the_files_of_a_tutorial_are_those_of_its_example(name, folder):
    """Each is in `examples/`, the same to the letter, and nothing else is there."""
    shown = {
        Path(marks["file"]).name: text
        for _, marks, text in blocks(ROOT / "docs" / "tutorial" / f"{name}.md")
        if "file" in marks
    }
    kept = {file.name: file.read_text(encoding="utf-8") for file in (ROOT / "examples" / folder).iterdir()}
    assert f"docs/tutorial/{name}.md" in kept.pop("README.md")
    assert kept == shown


@needs_uv
def test_a_tool_is_called_right_after_the_installation(tmp_path, tmp_path_factory):
    """`uv tool install` brings one command, and the first thing that this says to do works."""
    built, versions = wheel(tmp_path_factory)
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    uv("tool", "install", "--python", sys.executable, "--constraints", versions, built, env=places)
    check_first_call(tmp_path)


@needs_uv
@pytest.mark.torture
def test_pipx_brings_the_same_command(request, tmp_path, tmp_path_factory):
    """The other way that the README names."""
    if not request.config.getoption("--torture"):
        pytest.skip("fetches every package: with --torture")
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    uv("tool", "run", "pipx", "install", "--quiet", wheel(tmp_path_factory)[0], env=places)
    check_first_call(tmp_path)


def check_first_call(folder: Path) -> None:
    """The version, the first configuration, and the one command that this ends with."""
    with Shell(folder / "home", f"{folder / 'bin'}:{SYSTEM}") as shell:
        assert re.fullmatch(r"onetool \d+\.\d+\.\d+\S*\n", shell.type("onetool --version")[0])
        said, _ = shell.type("onetool init")
        assert "Hello, Ada." in shell.type(said.rpartition("Try it:")[2].strip())[0]
