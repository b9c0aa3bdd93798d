"""`onetool doctor`: every part tried, and what would mend it."""

import json

from commands import onetool


def doctor():
    return onetool("doctor")


def by_part(done):
    return {finding["part"]: finding for finding in json.loads(done.stdout)}


def test_a_fresh_home_has_no_problem_and_is_told_what_to_do_first(home):
    """What could be better is a hint, and hints are no failure."""
    done = doctor()
    found = by_part(done)
    assert done.returncode == 0
    assert found["code"]["status"] == "ok"
    assert found["settings"] | {"says": ""} == {
        "part": "settings",
        "status": "hint",
        "says": "",
        "fix": "onetool init",
    }


def test_a_server_that_is_down_is_a_problem_with_its_fix(home):
    """The exit code tells a script, the fix tells a person."""
    home.write("onetool.yaml", "servers: {dead: {command: no-such-program}}\n")
    done = doctor()
    found = by_part(done)
    assert done.returncode == 1
    assert found["settings"]["status"] == "ok"
    assert found["health"]["status"] == "problem"
    assert found["health"]["fix"] == "See why: onetool servers test dead"
