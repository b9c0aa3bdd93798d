"""A Tab completes commands, options and names, in the shells that are installed."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from onetool.doors.cli.completion import SHELLS
from onetool.doors.cli.main import cli

BIN = Path(sys.executable).parent
PROGRAM = """
eval "$(onetool completion bash)"
while IFS= read -r line; do
    read -ra COMP_WORDS <<< "$line"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _onetool_completion onetool
    echo "${COMPREPLY[*]}"
done
"""
SERVER = "import pathlib; pathlib.Path('started').touch()"


def in_bash(*lines: str) -> list[list[str]]:
    """What bash offers for each line, as its own completion is asked."""
    done = subprocess.run(
        ["bash", "--norc", "-c", PROGRAM],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


def test_bash_completes_commands_options_and_names(home):
    """Names come from what is known: no server is started, and no file of a project is looked into."""
    odd = {"command": sys.executable, "args": ["-c", SERVER]}
    home.write("onetool.yaml", json.dumps({"servers": {"odd": odd}, "aliases": {"fst": "fs.list_dir"}}))
    project = home.cwd / ".onetool" / "tools"
    project.mkdir(parents=True)
    (project / "fs_own.py").write_text(SERVER + "\ndef f() -> int: return 1\n")
    assert in_bash(
        "onetool to",
        "onetool tools in",
        "onetool tools invoke fs",
        "onetool tools invoke fs.read_file --a",
        "onetool bundles enable ti",
        "onetool servers test ",
        "onetool nonsense x",
    ) == [
        ["tools"],
        ["info", "invoke"],
        ["fst", "fs.list_dir", "fs.read_file"],
        ["--args"],
        ["time"],
        ["odd"],
        [],
    ]
    assert not (home.cwd / "started").exists()


def test_what_fails_or_takes_long_completes_nothing_and_says_nothing(home):
    """Broken settings, and a pack that hangs at its import, are no reason to disturb somebody who types."""
    home.write("tools/slow.py", "import time\ntime.sleep(30)\n")
    began = time.monotonic()
    assert in_bash("onetool tools invoke fs.") == [[]]
    assert time.monotonic() - began < 9
    home.write("onetool.yaml", "execuion: {}")
    assert in_bash("onetool tools invoke fs.") == [[]]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_says_how_it_is_installed(shell, tmp_path):
    """The first line is for a person; a shell that is installed can read all of it."""
    done = CliRunner().invoke(cli, ["completion", shell], prog_name="onetool")
    assert done.exit_code == 0
    assert done.stdout.startswith("# ")
    assert f"onetool completion {shell}" in done.stdout.splitlines()[0]
    assert "_ONETOOL_COMPLETE" in done.stdout
    if program := shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(done.stdout)
        assert subprocess.run([program, "-n", str(file)], capture_output=True).returncode == 0


def test_a_shell_that_is_not_known_is_named_with_those_that_are():
    """What would be right stands in the message."""
    done = CliRunner().invoke(cli, ["completion", "tcsh"], prog_name="onetool")
    assert (done.exit_code, "'bash'" in done.stderr) == (2, True)
