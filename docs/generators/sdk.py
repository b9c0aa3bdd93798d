"""The reference page of the SDK and the test helpers."""

import ast
import inspect
import re
import textwrap
from typing import Any

import onetool.sdk
import onetool.testing

from .markdown import GENERATED, first_paragraph, page

ABOUT = f"""Import everything from `onetool.sdk`, for example `from onetool.sdk import tool, call_tool`. It is
the stable API for packs. [Define tools](../tools.md) is an overview. {GENERATED}"""
TESTING = """## onetool.testing

Helpers for tests of packs; see [test a pack](../how-to/test-pack.md)."""


def pages() -> dict[str, str]:
    """Return the page by its path."""
    sections = [section("###", name, getattr(onetool.testing, name)) for name in onetool.testing.__all__]
    own = [section("##", name, getattr(onetool.sdk, name)) for name in onetool.sdk.__all__]
    return {"reference/sdk.md": page("SDK", ABOUT, *own, TESTING, *sections)}


def section(level: str, name: str, member: Any) -> str:
    """Return the signature and summary of one name."""
    block = f"```text\n{signature(member)}\n```"
    return "\n\n".join([f"{level} {name}", block, first_paragraph(inspect.getdoc(member))])


def signature(member: Any) -> str:
    """Return the signature of a function or class as in the source code."""
    node = ast.parse(textwrap.dedent(inspect.getsource(member))).body[0]
    if isinstance(node, ast.ClassDef):
        return _class_signature(node)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"{member!r} is neither a function nor a class")
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return _fold(f"{keyword} {node.name}", _parameters(node.args), _return_type(node))


def _class_signature(node: ast.ClassDef) -> str:
    """Return a class with its constructor, fields and public methods."""
    lines = []
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and not ast.unparse(member.target).startswith("_"):
            lines.append(ast.unparse(member))
        elif isinstance(member, ast.FunctionDef) and (member.name == "__init__" or member.name[0] != "_"):
            is_property = any(ast.unparse(decorator) == "property" for decorator in member.decorator_list)
            args = "" if is_property else f"({', '.join(_parameters(member.args))})"
            lines.append(f"{'' if is_property else 'def '}{member.name}{args}{_return_type(member)}")
    return "\n".join([f"class {node.name}", *(f"    {line}" for line in lines)])


def _fold(start: str, args: list[str], end: str) -> str:
    """Return one line, or one line for each parameter if that is too long."""
    line = f"{start}({', '.join(args)}){end}"
    return line if len(line) <= 96 else f"{start}(\n    " + ",\n    ".join(args) + f"\n){end}"


def _return_type(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return f" -> {ast.unparse(node.returns)}" if node.returns else ""


def _parameters(args: ast.arguments) -> list[str]:
    """Return the source of each parameter, split at commas outside brackets."""
    depth, parts = 0, [""]
    for char in ast.unparse(args):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [re.sub(r"^(\w+: [^=]+)=", r"\1 = ", part.strip()) for part in parts]
