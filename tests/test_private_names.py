"""Private names of dependencies: a new release may change them, so they are listed, checked and bounded."""

import ast
import importlib
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import httpcore2
import httpx2
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import onetool
from support.paths import PROJECT

SOURCE = Path(onetool.__file__).parent
IMPORTS = {
    "mcp.client._transport.ReadStream": "types of sources/mcp_servers/transport",
    "mcp.client._transport.TransportStreams": "types of sources/mcp_servers/transport",
    "mcp.client._transport.WriteStream": "types of sources/mcp_servers/transport",
    "pydantic_monty._binary.find_monty_binary": "sandbox/monty.py starts the interpreter in its jail",
}
"""Every private name that OneTool imports, and what breaks without it."""
BOUNDED = ("httpx2", "mcp", "pydantic-monty")
"""The distributions whose private names are used."""


def _imported_names(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_private_import_is_listed():
    """A name is private if one of its parts starts with an underscore."""
    used = {
        name
        for path in SOURCE.rglob("*.py")
        for name in _imported_names(ast.parse(path.read_text(encoding="utf-8")))
        if name.partition(".")[0] not in {"onetool", *sys.stdlib_module_names}
    }
    assert {name for name in used if "._" in name} == IMPORTS.keys()


@pytest.mark.parametrize("name", IMPORTS)
def test_private_import_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute), f"Without it: {IMPORTS[name]}."


def test_transport_has_the_pool_and_no_other_state():
    """GuardedTransport replaces the pool and does not run the constructor, so other state would be missing.

    Without the pool, requests would bypass the check of addresses.
    """
    assert {name: type(value) for name, value in vars(httpx2.HTTPTransport()).items()} == {
        "_pool": httpcore2.ConnectionPool
    }
    assert {name: type(value) for name, value in vars(httpx2.AsyncHTTPTransport()).items()} == {
        "_pool": httpcore2.AsyncConnectionPool
    }


@pytest.mark.parametrize("name", BOUNDED)
def test_releases_that_were_not_checked_are_excluded(name):
    """The next minor release is outside the bound."""
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (requirement,) = (
        requirement for requirement in map(Requirement, table["dependencies"]) if requirement.name == name
    )
    installed = Version(version(name))
    assert installed in requirement.specifier
    assert Version(f"{installed.major}.{installed.minor + 1}") not in requirement.specifier
