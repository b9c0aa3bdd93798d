"""llm: process values with a language model."""

from typing import Any

from onetool.sdk import ask_model, tool

pack = "llm"

RULES = "Apply the instruction to the input. Reply with the result only: no comments, no quotes."


@tool(timeout=120)
def transform(input: Any, prompt: str, model: str = "") -> str:
    """Rewrite, extract, translate or summarize a value with a language model.

    Args:
        input: A text, or any JSON value.
        prompt: The instruction for the model.
        model: The model; empty for the default.

    Returns:
        The response of the model.

    Example:
        llm.transform(input=web.fetch(url="https://example.com"), prompt="List the prices as JSON.")
    """
    from json import dumps

    text = input if isinstance(input, str) else dumps(input, ensure_ascii=False, default=str)
    return ask_model(f"Instruction: {prompt}\n\nInput:\n{text}", rules=RULES, model=model)
