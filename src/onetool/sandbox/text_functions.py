"""Text of dicts and lists in the sandbox: `print` and `str` give what the result of the code would show."""

from typing import Any

from onetool.domain.code.check import DYNAMIC_FUNCTIONS
from onetool.domain.code.program import Program
from onetool.domain.code.sandbox import SandboxHost
from onetool.domain.code.str_calls import STR_FUNCTION
from onetool.domain.text.json_text import check_size, is_json
from onetool.domain.text.model_text import to_readable_text
from onetool.domain.text.yaml_text import YamlList, YamlMap

MODULE = "onetool_text"
MAX_STR_BYTES = 16 * 2**20
NAMES = ("to_str", "to_print")
USERS = frozenset({"print", STR_FUNCTION, *DYNAMIC_FUNCTIONS})
"""Names in programs that need the functions."""
FUNCTIONS = f"""\
import {MODULE}
onetool_print = print

def onetool_text_of(value, function):
    text = function(value) if isinstance(value, (dict, list)) else None
    return str(value) if text is None else text

def {STR_FUNCTION}(value):
    return onetool_text_of(value, {MODULE}.to_str)

def print(*values, sep=" ", end="\\n", file=None, flush=False):
    texts = [onetool_text_of(value, {MODULE}.to_print) for value in values]
    onetool_print(*texts, sep=sep, end=end, file=file, flush=flush)
"""


def functions_for(program: Program) -> str:
    """Return the functions, if the program can call them: defining them takes longer than most programs."""
    return FUNCTIONS if program.names & USERS else ""


def text_of(function: str, value: Any, host: SandboxHost, max_printed_bytes: int) -> str | None:
    """Return the text of a dict or list, or None if Python's text is used, as for very large values.

    `to_str` converts only what a tool returned with a text form of its own, so that code can rely on the
    format of its other values. `to_print` converts every JSON value, because only a model reads the output.
    """
    try:
        check_size(value, max_printed_bytes if function == "to_print" else MAX_STR_BYTES)
        original = host.restore(value)
        if isinstance(original, YamlMap | YamlList):
            return str(original)
        return to_readable_text(value) if function == "to_print" and is_json(value) else None
    except ValueError:  # too large, nested too deeply, or an integer with more digits than Python writes
        return None
