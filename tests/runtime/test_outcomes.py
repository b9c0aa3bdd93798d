"""Outcomes of jobs as text: what another process returns equals what the owner would return."""

import math

import pytest

from onetool.domain.calls.call import CallMeta, ToolResult
from onetool.domain.content.media import Media, find_media
from onetool.domain.errors import Reason, RequestRefused
from onetool.pipeline.code_runner import CodeError, CodeResult, NestedCall
from onetool.runtime.outcomes import MEDIA, handles_in, outcome_from_text, outcome_media, outcome_to_text
from support.images import make_png

IMAGE = Media(make_png(), "image/png")


def through_text(outcome, media=(IMAGE,)):
    text = outcome_to_text(outcome)
    assert handles_in(text) == [item.handle for item in outcome_media(outcome)]
    return outcome_from_text(text, {item.handle: item for item in media})


def result(data) -> ToolResult:
    return ToolResult(True, CallMeta("demo.tool", "1", 1.5), data, media=find_media(data))


@pytest.mark.parametrize(
    "data",
    [
        None,
        "a \ud800 b",
        2**70,
        {"a": [1.5, True, None, {"b": "ü"}]},
        {MEDIA: "a handle"},
        {MEDIA: [1]},
        {MEDIA: {MEDIA: "x"}},
        {"image": IMAGE, "list": [IMAGE]},
        [{MEDIA: IMAGE}],
    ],
    ids=["none", "text", "number", "object", "key", "list", "nested key", "media", "media in the key"],
)
def test_data_is_returned_unchanged(data):
    """Also objects that look like the stored form of media."""
    assert through_text(result(data)).data == data
    run = CodeResult(True, data, "printed \ud800", media=find_media(data))
    assert through_text(run).data == data
    assert through_text(run).printed == "printed \ud800"


def test_number_that_json_does_not_have_does_not_lose_the_result():
    assert through_text(result([math.nan, math.inf, 1])).data[2] == 1


def test_failures_keep_their_reason_and_message():
    failed = ToolResult.failure(CallMeta("a.b", "1", 1.0, reason=Reason.TIMEOUT), Reason.TIMEOUT, "Too late.")
    found = through_text(failed)
    assert (found.ok, found.meta.reason, found.error) == (False, Reason.TIMEOUT, failed.error)
    error = CodeError("execution_error", Reason.RAISED, "line 1")
    run = CodeResult(False, None, "", error, (NestedCall("a.b", True, 1.0),))
    assert through_text(run) == run._replace(beside=[])


def test_error_of_the_protocol_keeps_its_code_and_data():
    refused = RequestRefused("no", -32000, {"why": [1]})
    failed = ToolResult.failure(CallMeta("demo.tool", "1", 1.5), Reason.UPSTREAM, "no", raised=refused)
    raised = through_text(failed).raised
    assert (type(raised), str(raised), raised.rpc_code, raised.rpc_data) == (
        RequestRefused,
        "no",
        -32000,
        {"why": [1]},
    )


def test_expired_media_are_replaced_by_a_line():
    assert through_text(result({"image": IMAGE}), media=()).data == {
        "image": f"[media {IMAGE.handle} have expired]"
    }
