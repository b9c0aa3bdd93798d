"""The commands that upgrade, remove and extend OneTool, for each way of installation."""

import importlib.util

import pytest

from onetool.files import installation
from onetool.files.installation import find_installation

RECEIPT = """[tool]
requirements = [
    { name = "onetool-gateway", extras = ["keyring", "otel"] },
    { name = "polars", specifier = ">=1" },
]
"""


def test_uv_tool_repeats_what_is_installed(tmp_path):
    """Its install command replaces the requirements, so libraries and extras would be lost otherwise."""
    (tmp_path / "uv-receipt.toml").write_text(RECEIPT)
    found = find_installation(tmp_path)
    assert (found.title, found.upgrade) == ("uv tool", "uv tool upgrade onetool-gateway")
    assert found.install_command("httpx", "a b") == (
        "uv tool install 'onetool-gateway[keyring,otel]' --with 'polars>=1' --with httpx --with 'a b'"
    )
    assert found.extra_command("semantic") == (
        "uv tool install 'onetool-gateway[keyring,otel,semantic]' --with 'polars>=1'"
    )


@pytest.mark.parametrize("text", ["[", "tool = 1", "[tool]\nrequirements = [1]", ""])
def test_receipt_that_cannot_be_read(tmp_path, text):
    (tmp_path / "uv-receipt.toml").write_text(text)
    assert find_installation(tmp_path).install_command("x") == "uv tool install onetool-gateway --with x"


def test_pipx(tmp_path):
    (tmp_path / "pipx_metadata.json").write_text("{}")
    found = find_installation(tmp_path)
    assert found.install_command("x", "y") == "pipx inject onetool-gateway x y"
    assert found.extra_command("otel") == "pipx runpip onetool-gateway install 'onetool-gateway[otel]'"
    assert (found.upgrade, found.remove) == (
        "pipx upgrade onetool-gateway",
        "pipx uninstall onetool-gateway",
    )


def test_project_of_uv(tmp_path):
    (tmp_path / "uv.lock").touch()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    assert find_installation(tmp_path / ".venv").install_command("x") == "uv add x"
    assert find_installation(tmp_path / ".venv").extra_command("otel") == "uv add 'onetool-gateway[otel]'"


@pytest.mark.parametrize(
    ("has_pip", "command"),
    [
        (True, "'/my env/bin/python' -m pip install --upgrade onetool-gateway"),
        (False, "uv pip install --python '/my env/bin/python' --upgrade onetool-gateway"),
    ],
)
def test_any_other_environment(tmp_path, monkeypatch, has_pip, command):
    """An environment of uv has no pip."""
    spec = importlib.util.find_spec("json") if has_pip else None
    monkeypatch.setattr(installation, "find_spec", lambda _name: spec)
    assert find_installation(tmp_path, "/my env/bin/python").upgrade == command
