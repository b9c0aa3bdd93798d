"""Python identifiers for names that others chose."""

import keyword
import re
import unicodedata

MAX_NAME_LENGTH = 128
"""Maximum length of a tool's name in MCP; longer names are truncated in identifiers."""


def is_parameter_name(name: str) -> bool:
    """Whether Python code can pass a keyword argument of exactly this name."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.is_normalized("NFKC", name)


def safe_name(name: str) -> str:
    """Return a valid Python identifier for a name; never a keyword or a dunder name."""
    text = re.sub(r"\W", "_", unicodedata.normalize("NFKC", name[:MAX_NAME_LENGTH]))
    if text.startswith("__"):
        text = text.strip("_")
    if text.isidentifier() and not keyword.iskeyword(text):
        return text
    text = f"_{text}"
    return text if text.isidentifier() else re.sub(r"[^A-Za-z0-9_]", "_", text)
