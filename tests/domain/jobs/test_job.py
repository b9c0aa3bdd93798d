"""Questions as jobs store them."""

from onetool.domain.calls.approval_request import approval_request
from onetool.domain.calls.question import Question
from onetool.domain.jobs.job import OpenQuestion


def test_stored_question_has_every_field_of_the_question():
    question = Question(
        kind="form", message="Name?", server="gh", schema={"type": "object"}, url="u", params={"x": 1}
    )
    stored = OpenQuestion.of("q1", question)
    assert stored == OpenQuestion("q1", "form", "Name?", "gh", {"type": "object"}, "u", {"x": 1}, None)


def test_stored_approval_has_what_is_shown_and_not_the_arguments_that_run():
    request = approval_request("a.b", {"key": "s3cr3t"}, lambda value: "***" if value == "s3cr3t" else value)
    stored = OpenQuestion.of("q1", Question(kind="approval", message="Run?", approval=request))
    shown = [{"name": '"key"', "value": '"***"', "hidden": 0}]
    assert stored.approval == {"tool": "a.b", "digest": request.digest, "arguments": shown}
    assert "s3cr3t" not in repr(stored)
