"""Checks of the answers to questions of jobs."""

from onetool.domain.calls.question import Answer
from onetool.domain.errors import InvalidTool
from onetool.domain.jobs.job import OpenQuestion
from onetool.domain.jobs.job_errors import InvalidAnswer
from onetool.domain.tools.json_schema import compile_schema, describe_problems


def check_answer(question: OpenQuestion, answer: Answer) -> None:
    """Check that an answer fits its question.

    Raises:
        InvalidAnswer: It does not. The message says what is wrong.
    """
    if answer.action != "accept" or question.kind not in ("form", "approval"):
        return
    try:
        problems = describe_problems(compile_schema(question.schema), question.schema, answer.fields)
    except InvalidTool as error:
        problems = f"the form is invalid: {error}"
    if problems:
        raise InvalidAnswer(f"The answer does not fit the form: {problems}.")
