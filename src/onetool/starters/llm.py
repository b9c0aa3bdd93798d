"""llm: let a language model work on a value."""

from typing import Any

from onetool.sdk import ask_model, tool

pack = "llm"

RULES = "Do what the instruction says with the input. Answer with the result alone: no remarks, no quotes."


@tool(timeout=120)
def transform(input: Any, prompt: str, model: str = "") -> str:
    """Let a language model rewrite, extract, translate or summarise something.

    Args:
        input: A text, or any JSON value.
        prompt: What to do with it.
        model: Which model; empty for the usual one.

    Returns:
        What the model answers.

    Example:
        llm.transform(input=web.fetch(url="https://example.com"), prompt="List the prices as JSON.")
    """
    from json import dumps

    given = input if isinstance(input, str) else dumps(input, ensure_ascii=False, default=str)
    return ask_model(f"Instruction: {prompt}\n\nInput:\n{given}", rules=RULES, model=model)
