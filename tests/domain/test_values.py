"""Callers, calls, results, errors: the values that travel through the house."""

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
from onetool.domain.call import Meta
from onetool.domain.caller import ignore
from onetool.domain.errors import CODE_OF, DuplicateTool, ExecutionError, InvalidTool
from onetool.domain.invocation import Flag, Invocation


def test_every_reason_belongs_to_one_code():
    """The table from reasons to the three codes is total."""
    assert set(CODE_OF) == set(Reason)
    assert set(CODE_OF.values()) == set(ErrorCode)
    assert ExecutionError(Reason.UNKNOWN, "x").code is ErrorCode.TOOL_NOT_FOUND


def test_a_caller_is_narrowed_never_widened():
    """Inner callers keep rights, lose time, and cannot add tools."""
    caller = Caller(door="ask", allowed=frozenset({"a.b", "a.c"}), deadline=10.0)
    assert caller.inner(20.0).deadline == 10.0
    assert caller.inner(5.0).deadline == 5.0
    assert caller.inner(5.0).depth == 1
    assert caller.narrowed(frozenset({"a.c", "x.y"})).allowed == {"a.c"}
    assert Caller(door="ask").narrowed(frozenset({"a.c"})).allowed == {"a.c"}
    assert not Caller(door="ask", allowed=frozenset()).allows("a.b")
    assert Caller(door="ask").inner(3.0).deadline == 3.0


def test_a_caller_cannot_be_changed():
    """Rights are a value, not a variable."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Caller(door="ask").allowed = None


def test_nobody_listens_to_progress_by_default():
    """Reporting progress to nobody is fine."""
    assert ignore(1, None, "x") is None


def test_an_invocation_hands_on_its_time():
    """What a tool calls ends when the tool does."""
    invocation = Invocation(
        call_id="1", tool="a.b", args={}, caller=Caller(door="ask"), deadline=7.0, over=Flag()
    )
    assert invocation.inner_caller().deadline == 7.0
    assert repr(invocation.over) == "Flag(down)"
    flag = Flag()
    flag.is_up = True
    assert repr(flag) == "Flag(up)"


def test_a_result_shows_what_applies_and_nothing_else():
    """Empty fields of meta are not written; a failed result may still carry data."""
    meta = Meta(tool="a.b", call_id="1", duration_ms=1.5, cached=True)
    assert ToolResult(ok=True, meta=meta).to_json() == {
        "ok": True,
        "data": None,
        "meta": {"tool": "a.b", "callId": "1", "durationMs": 1.5, "cached": True},
    }
    failed = ToolResult.failure(meta, Reason.TIMEOUT, "slow")
    assert failed.to_json()["error"] == {"tool": "a.b", "code": "execution_error", "message": "slow"}
    assert "data" not in failed.to_json()


def test_a_result_does_not_show_the_exception():
    """The tool's own exception is for doors inside the process, not for a repr."""
    meta = Meta(tool="a.b", call_id="1", duration_ms=1.5)
    result = ToolResult.failure(meta, Reason.RAISED, "x", raised=ValueError("inner detail"))
    assert "inner detail" not in repr(result)


def test_an_error_text_equals_its_text():
    """A marked text is still that text."""
    assert ErrorText("Error: x") == "Error: x"


def test_a_call_is_written_with_its_four_fields():
    """id, name, args, source."""
    call = ToolCall(id="1", name="a.b", args={"x": 1}, source="cli")
    assert call.to_json() == {"id": "1", "name": "a.b", "args": {"x": 1}, "source": "cli"}


def test_a_tool_without_a_dot_lives_in_the_pack_config():
    """Both names find it, and neither can be taken again."""
    plain = Tool(ToolSpec(name="hello", description="x", input_schema={"type": "object"}))
    again = Tool(ToolSpec(name="config.hello", description="y", input_schema={"type": "object"}))
    registry = Registry()
    registry.register(plain)
    assert registry.get("config.hello") is registry.get("hello") is plain
    assert (plain.spec.pack, plain.spec.qualified_name) == ("config", "config.hello")
    with pytest.raises(DuplicateTool, match=r"config\.hello"):
        registry.register(again)
    assert len(registry) == 1
    assert list(registry) == [plain]


def test_a_wrong_definition_is_a_value_error():
    """Callers that know only the standard library can catch it."""
    assert issubclass(InvalidTool, ValueError)


def test_details_show_what_is_known():
    """Field names are camel case, empty ones are left out."""
    spec = ToolSpec(name="a.b", description="x", input_schema={"type": "object"}, max_concurrent=2)
    details = spec.details()
    assert details["maxConcurrent"] == 2
    assert details["inputSchema"] == {"type": "object"}
    assert "disabledReason" not in details
