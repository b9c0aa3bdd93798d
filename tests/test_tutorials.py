"""The tutorials and installation instructions work with only the built wheel and an empty directory."""

import os
import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from onetool.sources.mcp_servers.transport.environment import ADDRESSES, CERTIFICATES
from support.doc_blocks import output_pattern, read_blocks
from support.package_registries import require_package
from support.wheel_install import (
    ROOT,
    SYSTEM,
    Shell,
    build_wheel,
    install_wheel,
    needs_uv,
    open_shell,
    run_uv,
)

TUTORIALS = {
    "assistant": "assistant",
    "http-api": "http_api",
    "python-function": "python_function",
}
PORTS = ("8765", "8600")
"""Ports that pages show; tests replace each with a free port."""
PROGRAMS = ("npx", "uvx")
PACKAGE = re.compile(r"\b(npx|uvx) (?:-y |)(@?[\w/-]+)@\d")
"""A program and the package that it downloads, with its version."""


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def follow(page: Path, shell: Shell) -> None:
    """Write the files of a page and run its commands verbatim."""
    ports = {port: free_port() for port in PORTS}

    def replace_ports(text: str) -> str:
        return re.sub("|".join(PORTS), lambda port: ports[port[0]], text)

    for language, marks, text in read_blocks(page):
        if "file" in marks:
            shell.write(marks["file"], replace_ports(text))
            continue
        assert language == "console", (page.name, language, text)
        for part in re.split(r"^\$ ", replace_ports(text), flags=re.M)[1:]:
            command, expected = re.fullmatch(r"((?:.*\\\n)*.*)\n?([\s\S]*)", part).groups()
            printed, _ = shell.run(command, re.findall(r"\]: (.+)$", expected, re.M))
            assert re.fullmatch(output_pattern(expected.rstrip()) + r"\s*", printed), (command, printed)


@needs_uv
@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_works_as_written(name, tmp_path, tmp_path_factory):
    """Every command prints what the page shows, on a terminal."""
    page = ROOT / "docs" / "tutorial" / f"{name}.md"
    for program, package in PACKAGE.findall(page.read_text(encoding="utf-8")):
        require_package(program, package)
    environment = install_wheel(tmp_path_factory)
    folders = dict.fromkeys(str(Path(found).parent) for name in PROGRAMS if (found := shutil.which(name)))
    variables = {name: os.environ[name] for name in (*CERTIFICATES, *ADDRESSES) if name in os.environ}
    with open_shell(environment, tmp_path / "home", ":".join((SYSTEM, *folders)), **variables) as shell:
        follow(page, shell)


@pytest.mark.parametrize(("name", "folder"), TUTORIALS.items())
def test_tutorial_files_match_its_example_folder(name, folder):
    """`examples/` contains exactly the files of the page, and a README that links to it."""
    page_files = {
        Path(marks["file"]).name: text
        for _, marks, text in read_blocks(ROOT / "docs" / "tutorial" / f"{name}.md")
        if "file" in marks
    }
    example_files = {
        file.name: file.read_text(encoding="utf-8") for file in (ROOT / "examples" / folder).iterdir()
    }
    assert f"docs/tutorial/{name}.md" in example_files.pop("README.md")
    assert example_files == page_files


@needs_uv
def test_first_call_works_after_uv_tool_install(tmp_path, tmp_path_factory):
    """The command that `onetool init` suggests works."""
    wheel, versions = build_wheel(tmp_path_factory)
    directories = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run_uv("tool", "install", "--python", sys.executable, "--constraints", versions, wheel, env=directories)
    check_first_call(tmp_path)


@needs_uv
@pytest.mark.stress
def test_first_call_works_after_pipx_install(request, tmp_path, tmp_path_factory):
    if not request.config.getoption("--stress"):
        pytest.skip("downloads every package; run with --stress")
    directories = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    run_uv("tool", "run", "pipx", "install", "--quiet", build_wheel(tmp_path_factory)[0], env=directories)
    check_first_call(tmp_path)


def check_first_call(folder: Path) -> None:
    """Check the version, run `onetool init` and then the command that it suggests."""
    with Shell(folder / "home", f"{folder / 'bin'}:{SYSTEM}") as shell:
        assert re.fullmatch(r"onetool \d+\.\d+\.\d+\S*\n", shell.run("onetool --version")[0])
        output, _ = shell.run("onetool init")
        assert "Hello, Ada." in shell.run(output.rpartition("Try it:")[2].strip())[0]
