"""Secrets do not appear in results, errors, logs or listings."""

import json

import pytest

from onetool import onetool_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.cli_process import onetool

CANARY = 'c4n"ary\\geheim/7'
PACK = '''
from dataclasses import dataclass
from onetool.sdk import ErrorText, call_tool, get_secret

@dataclass
class Box:
    content: str

def give() -> str:
    """Return the secret."""
    return get_secret("CANARY")

def box() -> dict:
    """Return the secret in nested data."""
    return {"a": [{get_secret("CANARY"): Box(get_secret("CANARY"))}]}

def fail() -> str:
    """Raise an error with the secret."""
    raise ValueError("sent to " + get_secret("CANARY"))

def complain() -> str:
    """Return the secret as an error."""
    return ErrorText("Error: " + get_secret("CANARY"))

def shout() -> int:
    """Log the secret."""
    import logging
    key = get_secret("CANARY")
    for name in ("onetool.packs.mine", __name__, "some.library", None):
        logging.getLogger(name).error("key %s", key, extra={"k": key})
    return 1

def use() -> int:
    """Get the secret from another tool, unmasked."""
    return len(call_tool("mine.give"))
'''


@pytest.fixture
def canary_home(home):
    """Return a home with a secret and tools that try to leak it."""
    home.write("secrets.yaml", f"CANARY: {json.dumps(CANARY)}\n")
    home.write("tools/mine.py", PACK)
    return home


def leaks(text: str) -> bool:
    """Return whether a text contains the secret, also escaped or in part."""
    forms = {CANARY, json.dumps(CANARY)[1:-1], repr(CANARY)[1:-1]}
    return any(form in text for form in forms) or "geheim" in text


@pytest.mark.parametrize("name", ["give", "box", "fail", "complain", "shout"])
def test_no_result_error_or_log_contains_the_secret(canary_home, name):
    """Checked through Python, the command line and the log file."""
    with onetool_runtime() as ot:
        result = ot.call(f"mine.{name}")
    assert not leaks(repr(result) + str(result.to_json()))
    done = onetool("--log-level", "debug", "tools", "invoke", f"mine.{name}")
    assert not leaks(done.stdout + done.stderr)
    assert done.stdout
    assert canary_home.log()
    if name == "shout":
        assert {"some.library", "root"} <= {record["logger"] for record in canary_home.log()}
    assert not leaks("".join(json.dumps(record, ensure_ascii=False) for record in canary_home.log()))


def test_secret_in_a_tool_definition_is_masked_in_listings(canary_home, monkeypatch):
    """The default of a parameter may contain a value from the environment."""
    monkeypatch.setenv("MY_TOKEN", CANARY)
    code = "import os\ndef f(token: str = os.environ.get('MY_TOKEN', 'none')) -> str:\n    return 'x'\n"
    canary_home.write("tools/leaky.py", code)
    for args in (["list"], ["info", "leaky.f"], ["export", "--format", "openai"]):
        done = onetool("tools", *args)
        assert "leaky" in done.stdout
        assert "[secret]" in done.stdout
        assert not leaks(done.stdout + done.stderr)


def test_tool_receives_the_unmasked_secret_from_another_tool(canary_home):
    with onetool_runtime() as ot:
        assert ot.call("mine.use").data == len(CANARY)


def test_no_listing_or_repr_contains_the_secret(canary_home):
    configuration = load_configuration(find_paths(canary_home.env, canary_home.cwd), {})
    assert not leaks(repr(configuration))
    for args in (["config", "show"], ["tools", "list"], ["tools", "info", "mine.give"], ["config", "path"]):
        done = onetool(*args)
        assert not leaks(done.stdout + done.stderr)
        assert done.returncode == 0
