"""Limits of a workspace: defaults, and values that are refused."""

import pytest

from onetool.domain.errors import SettingsError
from onetool.domain.identity.workspace_limits import WorkspaceLimits


def test_limits_that_are_not_stored_have_their_defaults():
    limits = WorkspaceLimits.from_json({"calls_per_minute": 5, "concurrent_runs": None})
    assert limits.to_json() == {
        "calls_per_minute": 5,
        "principal_calls_per_minute": None,
        "concurrent_calls": None,
        "concurrent_runs": None,
        "stored_tools": 200_000,
        "secrets": 1_000,
        "result_bytes": 2**30,
    }


def test_limits_of_a_later_version_are_ignored():
    assert WorkspaceLimits.from_json({"later": 1}) == WorkspaceLimits()


@pytest.mark.parametrize(
    ("name", "value", "minimum"),
    [
        ("calls_per_minute", 0, 1),
        ("concurrent_calls", -1, 1),
        ("concurrent_runs", 1.5, 1),
        ("principal_calls_per_minute", True, 1),
        ("stored_tools", -1, 0),
        ("result_bytes", "1", 0),
    ],
)
def test_invalid_limit_is_refused_by_name(name, value, minimum):
    message = rf"The limit {name} is {value!r}\. It must be an integer of at least {minimum}, or none\."
    with pytest.raises(SettingsError, match=message):
        WorkspaceLimits.from_json({name: value})


def test_nothing_may_be_stored():
    assert WorkspaceLimits(stored_tools=0, secrets=0, result_bytes=0).secrets == 0
