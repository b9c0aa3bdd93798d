"""`onetool doctor`: findings, fixes and exit codes."""

import json

import pytest

from onetool.interfaces.cli.doctor import _check_sandbox
from support.onetool_process import onetool


def doctor():
    return onetool("doctor")


def by_part(done):
    return {finding["part"]: finding for finding in json.loads(done.stdout)}


def test_a_new_installation_has_hints_but_no_problems(home):
    """Hints do not affect the exit code."""
    done = doctor()
    findings = by_part(done)
    assert done.returncode == 0
    assert findings["code"]["status"] == "ok"
    assert findings["settings"] | {"message": ""} == {
        "part": "settings",
        "status": "hint",
        "message": "",
        "fix": "onetool init",
    }


@pytest.mark.guards("model-code")
@pytest.mark.linux
def test_restrictions_of_the_sandbox_are_reported(home):
    sandbox = by_part(doctor())["sandbox"]
    assert sandbox["message"] == "restricted: network, privileges, limits, files, system calls"
    assert sandbox["status"] == "ok"


@pytest.mark.parametrize(
    ("restrictions", "message"),
    [
        ({"network": True, "files": False}, "restricted: network; not restricted: files"),
        ({"files": False}, "restricted: nothing; not restricted: files"),
        ({}, "processes are restricted on Linux only"),
    ],
)
def test_missing_restrictions_are_hints(restrictions, message):
    finding = _check_sandbox(restrictions)
    assert (finding.status, finding.message) == ("hint", message)


def test_an_unavailable_server_is_a_problem_with_a_fix(home):
    home.write("onetool.yaml", "servers: {dead: {command: no-such-program}}\n")
    done = doctor()
    findings = by_part(done)
    assert done.returncode == 1
    assert findings["settings"]["status"] == "ok"
    assert findings["health"]["status"] == "problem"
    assert findings["health"]["fix"] == "Fix the cause, then test it: onetool servers test dead"
