"""Callers, calls, results and errors."""

import dataclasses

import pytest

from onetool.domain import (
    Caller,
    ErrorCode,
    ErrorText,
    Reason,
    Registry,
    Tool,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from onetool.domain.calls.call import CallMeta
from onetool.domain.calls.caller import ignore_progress
from onetool.domain.calls.invocation import CancelFlag, Context, Invocation
from onetool.domain.errors import CODE_BY_REASON, DuplicateTool, ExecutionError, InvalidTool


def test_every_reason_has_an_error_code():
    assert set(CODE_BY_REASON) == set(Reason)
    assert set(CODE_BY_REASON.values()) == set(ErrorCode)
    assert ExecutionError(Reason.UNKNOWN, "x").code is ErrorCode.TOOL_NOT_FOUND


def test_nested_and_restricted_callers_are_never_widened():
    caller = Caller(interface="ask", allowed=frozenset({"a.b", "a.c"}), deadline=10.0)
    assert caller.nested(20.0, "id").deadline == 10.0
    assert caller.nested(5.0, "id").deadline == 5.0
    assert (caller.nested(5.0, "id").depth, caller.nested(5.0, "id").parent) == (1, "id")
    assert caller.restricted(frozenset({"a.c", "x.y"})).allowed == {"a.c"}
    assert Caller(interface="ask").restricted(frozenset({"a.c"})).allowed == {"a.c"}
    assert Caller(interface="ask").nested(3.0, "id").deadline == 3.0


def test_caller_is_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Caller(interface="ask").allowed = None


def test_progress_is_ignored_by_default():
    assert ignore_progress(1, None, "x") is None


def test_nested_caller_has_the_deadline_of_the_invocation():
    invocation = Invocation(
        call_id="1",
        tool="a.b",
        args={},
        caller=Caller(interface="ask"),
        first_deadline=7.0,
        cancelled=CancelFlag(),
    )
    assert invocation.nested_caller().deadline == 7.0


@pytest.mark.parametrize(
    ("message", "text"),
    [("half", "half"), ("é", "é"), ("file \udcff", "file ?"), (5, "5"), (b"x", "b'x'"), (None, "")],
)
def test_progress_message_is_always_text(message, text):
    reports = []
    caller = Caller(interface="ask", on_progress=lambda *report: reports.append(report))
    invocation = Invocation("1", "a.b", {}, caller, 7.0, CancelFlag())
    invocation.report_progress(1, 2, message)
    Context(invocation).progress(3, None, message)
    assert reports == [(1, 2, text), (3, None, text)]


def test_cancel_flag_shows_its_state():
    flag = CancelFlag()
    assert repr(flag) == "CancelFlag(is_set=False)"
    flag.is_set = True
    assert repr(flag) == "CancelFlag(is_set=True)"


def test_result_serializes_only_the_fields_that_apply():
    meta = CallMeta(tool="a.b", call_id="1", duration_ms=1.5, cached=True)
    assert ToolResult(ok=True, meta=meta).to_json() == {
        "ok": True,
        "data": None,
        "meta": {"tool": "a.b", "callId": "1", "durationMs": 1.5, "cached": True},
    }
    failed = ToolResult.failure(meta, Reason.TIMEOUT, "slow")
    assert failed.to_json()["error"] == {"tool": "a.b", "code": "execution_error", "message": "slow"}
    assert "data" not in failed.to_json()


def test_repr_of_a_result_does_not_contain_the_exception():
    meta = CallMeta(tool="a.b", call_id="1", duration_ms=1.5)
    result = ToolResult.failure(meta, Reason.RAISED, "x", raised=ValueError("inner detail"))
    assert "inner detail" not in repr(result)


def test_error_text_equals_its_plain_string():
    assert ErrorText("Error: x") == "Error: x"


def test_call_serializes_id_name_args_and_source():
    call = ToolCall(id="1", name="a.b", args={"x": 1}, source="cli")
    assert call.to_json() == {"id": "1", "name": "a.b", "args": {"x": 1}, "source": "cli"}


def test_tool_without_a_dot_belongs_to_the_pack_config():
    """Both of its names find it, and neither can be registered again."""
    plain = Tool(ToolSpec(name="hello", description="x", input_schema={"type": "object"}))
    duplicate = Tool(ToolSpec(name="config.hello", description="y", input_schema={"type": "object"}))
    registry = Registry()
    registry.register(plain)
    assert registry.get("config.hello") is registry.get("hello") is plain
    assert (plain.spec.pack, plain.spec.qualified_name) == ("config", "config.hello")
    with pytest.raises(DuplicateTool, match=r"config\.hello"):
        registry.register(duplicate)
    assert len(registry) == 1
    assert list(registry) == [plain]


def test_invalid_tool_is_a_value_error():
    assert issubclass(InvalidTool, ValueError)


def test_details_have_camel_case_names_and_no_empty_fields():
    spec = ToolSpec(name="a.b", description="x", input_schema={"type": "object"}, max_concurrent=2)
    details = spec.details()
    assert details["maxConcurrent"] == 2
    assert details["inputSchema"] == {"type": "object"}
    assert "disabledReason" not in details
