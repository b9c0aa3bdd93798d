"""Typical mistakes of models: the message names the line and says what to write instead."""

from onetool.testing import memory_runtime
from pipeline.wrong_programs import PACKS, PROGRAMS


async def test_messages_help_to_correct_the_program():
    """Wrong names and arguments are found before any tool runs."""
    wrong = {}
    async with memory_runtime(PACKS, settings={"aliases": {"grab": "site.fetch"}}) as ot:
        for name, (code, parts, calls) in PROGRAMS.items():
            result = await ot.run(code)
            message = result.error.message if result.error else f"no error, but {result.data!r}"
            called = tuple(call.name for call in result.calls)
            if called != calls or any(part not in message for part in parts):
                wrong[name] = (message, called)
    assert not wrong
