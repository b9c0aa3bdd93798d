"""What is wrong, in words that a person can act on."""

from onetool.domain.health import Health, Problem


def health(**parts):
    fine = {"failures": {}, "left_out": {}, "held_back": (), "abandoned": 0, "servers": {"good": True}}
    return Health(version="1", python="3", cwd="/", tool_count=1, **(fine | parts))


def test_what_is_fine_is_no_problem():
    """Nothing is said where nothing is to be done."""
    assert health().problems() == []


def test_every_problem_has_a_remedy():
    """Sources, servers, files that wait, and tools that never end."""
    found = health(
        failures={"pack x": "SyntaxError"},
        held_back=("tools/a.py",),
        abandoned=2,
        servers={"good": True, "gone": False},
    ).problems()
    assert [problem.what for problem in found] == [
        "pack x cannot be read: SyntaxError",
        "The server 'gone' does not answer.",
        "tools/a.py of this project is held back.",
        "2 tools still run although nobody waits for them.",
    ]
    assert found[1] == Problem("The server 'gone' does not answer.", "See why: onetool servers test gone")
    assert all(problem.fix for problem in found)
