"""Architecture rules that no linter checks."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import onetool

ROOT = Path(onetool.__file__).parent


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of each module, by its path."""
    paths = ROOT.rglob("*.py")
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def users(is_used: Callable[[ast.Attribute], bool]) -> set[str]:
    """Return the modules that use such an attribute."""
    return {
        path
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and is_used(node)
    }


def test_only_dispatch_accesses_tool_runners():
    """Only pipeline/dispatch.py reads `Tool.runner`, so no call can bypass the pipeline."""
    assert users(lambda node: node.attr == "runner") == {"pipeline/dispatch.py"}


def test_untrusted_yaml_has_one_reader():
    """The editor of settings uses positions of a text that the reader has accepted."""
    loaders = {"compose", "compose_all", "load", "load_all", "parse", "safe_load", "safe_load_all", "scan"}

    def is_loader(node: ast.Attribute) -> bool:
        is_yaml = isinstance(node.value, ast.Name) and node.value.id == "yaml"
        return is_yaml and (node.attr in loaders or node.attr.endswith("Loader"))

    assert users(is_loader) == {"files/safe_yaml.py", "settings/yaml_text.py"}


def test_transactions_of_postgres_use_no_pipelines():
    """In the middle of a pipeline, PostgreSQL limits neither the statement nor the idle transaction."""
    found = users(lambda node: node.attr in {"executemany", "pipeline"})
    assert {path for path in found if path.startswith("storage/postgres/")} == set()


def test_importing_onetool_loads_no_third_party_package():
    code = (
        "import sys, json; before = set(sys.modules); import onetool; "
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(json.loads(printed)) - {"onetool"}
    assert loaded <= set(sys.stdlib_module_names)


def test_unknown_attribute_of_the_package_raises_attribute_error():
    """The lazy `__getattr__` behaves like a regular module."""
    with pytest.raises(AttributeError, match="nothing"):
        _ = onetool.nothing


def test_every_module_has_a_docstring():
    assert [path for path, tree in modules().items() if tree.body and not ast.get_docstring(tree)] == []
