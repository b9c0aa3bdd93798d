"""Questions and answers."""

from pathlib import Path

import pytest

from onetool.domain.calls.approval_request import approval_request
from onetool.domain.calls.question import (
    CANCELLED,
    NO_ASKER,
    SHOW_EVERYTHING,
    Answer,
    Asker,
    Question,
    approval_question,
)


@pytest.mark.parametrize(
    ("capabilities", "kinds"),
    [
        ({}, set()),
        ({"elicitation": {}}, {"form"}),
        ({"elicitation": {"form": {}}}, {"form"}),
        ({"elicitation": {"url": {}}}, {"url"}),
        ({"elicitation": {"form": {}, "url": {}}}, {"form", "url"}),
        ({"elicitation": None}, set()),
        ({"sampling": {}, "roots": {"listChanged": True}}, {"sampling", "roots"}),
        ({"tasks": {}}, set()),
    ],
)
def test_only_declared_kinds_can_be_asked(capabilities, kinds):
    assert Asker(capabilities=capabilities).kinds == kinds


async def test_caller_without_a_user_answers_cancel():
    assert await NO_ASKER.ask(Question(kind="form", message="x")) == CANCELLED
    assert NO_ASKER.kinds == frozenset()


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        (Answer("accept", {"a": 1}), {"a": 1}),
        (Answer("accept"), {}),
        (Answer("decline", {"a": 1}), {}),
        (CANCELLED, {}),
    ],
)
def test_only_accepted_answers_have_fields(answer, fields):
    assert answer.fields == fields


def test_approval_names_the_tool_and_requires_a_decision():
    request = approval_request("files.delete", {"path": "a"}, lambda value: value)
    question = approval_question(request)
    assert question.message.startswith("Allow the model to call files.delete?\n")
    assert question.schema["required"] == ["allow"]
    assert list(question.schema["properties"]) == ["allow"]
    assert question.approval is request


def test_approval_that_hides_something_offers_to_show_it_once():
    request = approval_request("files.delete", {"path": "x" * 100_000}, lambda value: value)
    assert request.hides_something
    assert SHOW_EVERYTHING in approval_question(request).schema["properties"]
    complete = approval_question(request, request.complete_text())
    assert list(complete.schema["properties"]) == ["allow"]
    assert "x" * 100_000 in complete.message


@pytest.mark.spec("MCP-40")
def test_directories_are_told_in_place_of_those_of_a_client_that_has_none():
    roots = (Path("/a"),)
    able, own = Asker(capabilities={"elicitation": {}}), Asker(capabilities={"roots": {}})
    told = able.with_roots(roots)
    assert (told.kinds, told.roots) == ({"form", "roots"}, roots)
    assert own.with_roots(roots) is own
    assert NO_ASKER.with_roots(roots) is NO_ASKER
    assert able.with_roots(()) is able
