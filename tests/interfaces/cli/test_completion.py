"""Shell completion of commands, options and names."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from onetool.interfaces.cli.completion import SHELLS
from onetool.interfaces.cli.main import cli

BIN = Path(sys.executable).parent
PATIENT = f"""#!{sys.executable}
from onetool.interfaces.cli import completion, main
completion.TIMEOUT_S = 3600
main.main()
"""
"""The command, without its time limit."""
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


def in_bash(*lines: str, programs: Path = BIN) -> list[list[str]]:
    """Return the completions of bash for each line."""
    done = subprocess.run(
        ["bash", "--norc", "-c", PROGRAM],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


def test_bash_completes_commands_options_and_names(home, tmp_path):
    """Completing names starts no server and runs no untrusted project file."""
    server = {"command": sys.executable, "args": ["-c", SERVER], "sandbox": False}
    home.write("onetool.yaml", json.dumps({"servers": {"remote": server}, "aliases": {"fst": "fs.list_dir"}}))
    project = home.cwd / ".onetool" / "tools"
    project.mkdir(parents=True)
    (project / "fs_own.py").write_text(SERVER + "\ndef f() -> int: return 1\n")
    program = tmp_path / "bin" / "onetool"
    program.parent.mkdir()
    program.write_text(PATIENT)
    program.chmod(0o700)
    assert in_bash(
        "onetool to",
        "onetool tools in",
        "onetool tools invoke fs",
        "onetool call fs",
        "onetool tools invoke fs.read_file --a",
        "onetool bundles enable ti",
        "onetool servers test ",
        "onetool nonsense x",
        programs=program.parent,
    ) == [
        ["tools"],
        ["info", "invoke"],
        ["fst", "fs.list_dir", "fs.read_file"],
        ["fst", "fs.list_dir", "fs.read_file"],
        ["--args"],
        ["time"],
        ["remote"],
        [],
    ]
    assert not (home.cwd / "started").exists()


def test_failures_and_timeouts_complete_nothing_silently(home):
    """Invalid settings and a pack that hangs on import print nothing while the user types."""
    home.write("tools/slow.py", "import time\ntime.sleep(3600)\n")
    assert in_bash("onetool tools invoke fs.") == [[]]
    home.write("onetool.yaml", "execuion: {}")
    assert in_bash("onetool tools invoke fs.") == [[]]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_starts_with_installation_instructions(shell, tmp_path):
    """The script is valid in the shell, if the shell is installed."""
    done = CliRunner().invoke(cli, ["completion", shell], prog_name="onetool")
    assert done.exit_code == 0
    assert done.stdout.startswith("# ")
    assert f"onetool completion {shell}" in done.stdout.splitlines()[0]
    assert "_ONETOOL_COMPLETE" in done.stdout
    if program := shutil.which(shell):
        file = tmp_path / "script"
        file.write_text(done.stdout)
        assert subprocess.run([program, "-n", str(file)], capture_output=True).returncode == 0
