"""Health problems and their suggested fixes."""

from onetool.domain.health import Health, ServerHealth


def health(**overrides):
    healthy = {
        "failures": {},
        "skipped": {},
        "untrusted_files": (),
        "abandoned": 0,
        "unwritable": {},
        "servers": {"good": ServerHealth("connected"), "unused": ServerHealth("idle")},
    }
    return Health(version="1", python="3", cwd="/", tool_count=1, **(healthy | overrides))


def test_healthy_runtime_has_no_problems():
    assert health().problems() == []


def test_every_problem_has_a_fix():
    problems = health(
        failures={"x": "SyntaxError"},
        untrusted_files=("tools/a.py",),
        abandoned=2,
        unwritable={"/data": "No space left on device"},
        servers={
            "slow": ServerHealth("starting", "it is still starting"),
            "gone": ServerHealth("failed", "exit code 1"),
        },
    ).problems()
    assert [problem.what for problem in problems] == [
        "Cannot write to /data: No space left on device. Calls go on, but nothing new is stored there: "
        "bundles, sessions, results, logins and statistics, or the log and caches.",
        "Source 'x' failed: SyntaxError",
        "Server 'slow' is not ready: it is still starting.",
        "Server 'gone' cannot be used: exit code 1.",
        "Project file tools/a.py is not trusted.",
        "2 abandoned tools still running after a timeout.",
    ]
    assert problems[3].fix == "Fix the cause, then test it: onetool servers test gone"
    assert all(problem.fix for problem in problems)


def test_a_blocked_event_loop_is_named():
    (problem,) = health(blocked_loop="work() (mine.py, line 3), for 7 s,").problems()
    assert problem.what == (
        "Nothing was answered for a time: work() (mine.py, line 3), for 7 s, blocked the event loop."
    )
    assert "to_thread" in problem.fix


def test_settings_that_cannot_be_loaded_are_named():
    (problem,) = health(settings_error="onetool.yaml:1: bad").problems()
    assert problem.what.endswith("the ones loaded before stay active: onetool.yaml:1: bad")
    assert "ot.reload()" in problem.fix
