"""Health problems and their suggested fixes."""

from onetool.domain.health import Health, HealthProblem


def health(**overrides):
    healthy = {
        "failures": {},
        "skipped": {},
        "untrusted_files": (),
        "abandoned": 0,
        "servers": {"good": True},
    }
    return Health(version="1", python="3", cwd="/", tool_count=1, **(healthy | overrides))


def test_healthy_runtime_has_no_problems():
    assert health().problems() == []


def test_every_problem_has_a_fix():
    problems = health(
        failures={"x": "SyntaxError"},
        untrusted_files=("tools/a.py",),
        abandoned=2,
        servers={"good": True, "gone": False},
    ).problems()
    assert [problem.what for problem in problems] == [
        "Source 'x' failed: SyntaxError",
        "Server 'gone' does not respond.",
        "Project file tools/a.py is not trusted.",
        "2 abandoned tools still running after a timeout.",
    ]
    assert problems[1] == HealthProblem(
        "Server 'gone' does not respond.", "Find the cause with: onetool servers test gone"
    )
    assert all(problem.fix for problem in problems)
