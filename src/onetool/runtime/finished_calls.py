"""The calls that a failed run had finished: a list for the model, and their results as a stored text."""

from collections.abc import Sequence

from onetool.domain.code.shape import describe_shape
from onetool.domain.text.json_text import pretty
from onetool.domain.text.strings import truncate_middle
from onetool.pipeline.code_runner import SuccessfulCall

MAX_LISTED_CALLS = 10
MAX_ARGS_LENGTH = 80


def finished_calls_text(calls: Sequence[SuccessfulCall], handle: str) -> str:
    """Return which calls had finished, the shape of their results, and how to read them.

    handle: empty if the results could not be stored.
    """
    lines = [
        f"  {number}. {_format_call(call)} -> {describe_shape(call.value)}"
        for number, call in enumerate(calls[:MAX_LISTED_CALLS])
    ]
    if len(calls) > MAX_LISTED_CALLS:
        lines.append(f"  and {len(calls) - MAX_LISTED_CALLS} more")
    read = f"Read result N with ot.result(handle={handle!r}, path='N.result')."
    if not handle:
        read = "Their results could not be stored. Do not repeat calls that changed something."
    return "\n".join(["Calls that had finished:", *lines, read])


def finished_calls_json(calls: Sequence[SuccessfulCall]) -> str:
    """Return the calls and their results as JSON, for `ot.result`."""
    return pretty([{"call": _format_call(call), "result": call.value} for call in calls])


def _format_call(call: SuccessfulCall) -> str:
    args = ", ".join(f"{name}={value!r}" for name, value in call.args.items())
    return f"{call.name}({truncate_middle(args, MAX_ARGS_LENGTH)})"
