"""The page of everything that pack authors may import."""

import ast
import inspect
import re
import textwrap
from typing import Any

import onetool.sdk
import onetool.testing

from .markdown import MADE, first_paragraph, page

ABOUT = f"""`from onetool.sdk import tool, call_tool`: all that a pack needs, and all that is promised to
stay. [Define tools](../tools.md) tells what is for what. {MADE}"""
TESTING = """## onetool.testing

What pack authors test with; see [test a pack](../how-to/test-pack.md)."""


def pages() -> dict[str, str]:
    """The page, by its place."""
    sections = [section("###", name, getattr(onetool.testing, name)) for name in onetool.testing.__all__]
    own = [section("##", name, getattr(onetool.sdk, name)) for name in onetool.sdk.__all__]
    return {"reference/sdk.md": page("SDK", ABOUT, *own, TESTING, *sections)}


def section(level: str, name: str, member: Any) -> str:
    """A name, how it is called, and what it does."""
    written = f"```text\n{signature(member)}\n```"
    return "\n\n".join([f"{level} {name}", written, first_paragraph(inspect.getdoc(member))])


def signature(member: Any) -> str:
    """How a function is called or a class is made, as its author wrote it."""
    node = ast.parse(textwrap.dedent(inspect.getsource(member))).body[0]
    if isinstance(node, ast.ClassDef):
        return _of_class(node)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"{member!r} is no function and no class")
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return _folded(f"{word} {node.name}", _split(node.args), _returned(node))


def _of_class(node: ast.ClassDef) -> str:
    """A class with what makes it, its fields and its public methods."""
    lines = []
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and not ast.unparse(part.target).startswith("_"):
            lines.append(ast.unparse(part))
        elif isinstance(part, ast.FunctionDef) and (part.name == "__init__" or part.name[0] != "_"):
            is_property = any(ast.unparse(one) == "property" for one in part.decorator_list)
            args = "" if is_property else f"({', '.join(_split(part.args))})"
            lines.append(f"{'' if is_property else 'def '}{part.name}{args}{_returned(part)}")
    return "\n".join([f"class {node.name}", *(f"    {line}" for line in lines)])


def _folded(start: str, args: list[str], end: str) -> str:
    """One line, or one line for each parameter where that is too long."""
    whole = f"{start}({', '.join(args)}){end}"
    return whole if len(whole) <= 96 else f"{start}(\n    " + ",\n    ".join(args) + f"\n){end}"


def _returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f" -> {ast.unparse(node.returns)}" if node.returns else ""


def _split(args: ast.arguments) -> list[str]:
    """Each parameter as it is written, by cutting at commas that stand in no bracket."""
    depth, cut = 0, [""]
    for char in ast.unparse(args):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            cut.append("")
        else:
            cut[-1] += char
    return [re.sub(r"^(\w+: [^=]+)=", r"\1 = ", part.strip()) for part in cut]
