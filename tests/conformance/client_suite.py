"""Run the client scenarios of the newer conformance suite, one after the other: OneTool is the client."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.suite import NEXT_SUITE, install, node_command

CLIENT = Path(__file__).parent / "client.py"
VERSIONS = ("2025-11-25", "2026-07-28")
TIMEOUT_MS = 60_000
SCENARIO = re.compile(r"^  - (?P<name>\S+)", re.MULTILINE)
COLOR = re.compile(r"\x1b\[\d*m")
FAILED = re.compile(r"\[(?P<check>[^\s\]]+)\s*\] (?:FAILURE|WARNING)")


def main() -> None:
    """Print how many checks of each scenario pass, and the checks that do not."""
    install()
    for version in VERSIONS:
        for scenario in SCENARIO.findall(_run_suite("list", "--client", "--spec-version", version)):
            print(f"{version}  {scenario:<40}{run_scenario(scenario, version)}", flush=True)


def run_scenario(scenario: str, version: str) -> str:
    """Return the line of the suite that counts the checks, and the names of those that do not pass."""
    command = f"{sys.executable} {CLIENT}"
    options = ["--scenario", scenario, "--spec-version", version, "--timeout", str(TIMEOUT_MS)]
    try:
        output = _run_suite("client", "--command", command, *options)
    except subprocess.TimeoutExpired:
        return "no result in time"
    count = next((line for line in output.splitlines() if line.startswith("Passed")), "no result")
    return "  ".join([count, *FAILED.findall(output)])


def _run_suite(*words: str) -> str:
    command = [*node_command(), str(NEXT_SUITE), *words]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_MS / 500)
    return COLOR.sub("", done.stdout + done.stderr)


if __name__ == "__main__":
    main()
