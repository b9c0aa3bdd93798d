"""A secret goes where a tool sends it, and nowhere else."""

import json

import pytest

from commands import onetool
from onetool import onetool_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places

CANARY = 'c4n"ary\\geheim/7'
PACK = '''
from dataclasses import dataclass
from onetool.sdk import ErrorText, call_tool, get_secret

@dataclass
class Box:
    content: str

def give() -> str:
    """Return it."""
    return get_secret("CANARY")

def box() -> dict:
    """Return it deep inside."""
    return {"a": [{get_secret("CANARY"): Box(get_secret("CANARY"))}]}

def fail() -> str:
    """Raise it."""
    raise ValueError("sent to " + get_secret("CANARY"))

def complain() -> str:
    """Return it as an error."""
    return ErrorText("Error: " + get_secret("CANARY"))

def shout() -> int:
    """Log it."""
    import logging
    key = get_secret("CANARY")
    logging.getLogger("onetool.packs.mine").error("key %s", key, extra={"k": key})
    return 1

def use() -> int:
    """Another tool gets it unchanged."""
    return len(call_tool("mine.give"))
'''


@pytest.fixture
def armed(home):
    home.write("secrets.yaml", f"CANARY: {json.dumps(CANARY)}\n")
    home.write("tools/mine.py", PACK)
    return home


def leaks(text: str) -> bool:
    forms = {CANARY, json.dumps(CANARY)[1:-1], repr(CANARY)[1:-1]}
    return any(form in text for form in forms) or "geheim" in text


@pytest.mark.parametrize("name", ["give", "box", "fail", "complain", "shout"])
def test_no_reply_error_or_log_shows_the_secret(armed, name):
    """Not through Python, not through the command line, not in the log file."""
    with onetool_runtime() as ot:
        result = ot.call(f"mine.{name}")
    assert not leaks(repr(result) + str(result.to_json()))
    done = onetool("--log-level", "debug", "tools", "invoke", f"mine.{name}")
    assert not leaks(done.stdout + done.stderr)
    assert done.stdout
    assert armed.log()
    assert not leaks("".join(json.dumps(record, ensure_ascii=False) for record in armed.log()))


def test_a_secret_in_a_definition_is_masked_in_listings(armed, monkeypatch):
    """A default or a docstring may hold what the environment holds."""
    monkeypatch.setenv("MY_TOKEN", CANARY)
    code = "import os\ndef f(token: str = os.environ.get('MY_TOKEN', 'none')) -> str:\n    return 'x'\n"
    armed.write("tools/leaky.py", code)
    for args in (["list"], ["info", "leaky.f"], ["export", "--format", "openai"]):
        done = onetool("tools", *args)
        assert "leaky" in done.stdout
        assert "[secret]" in done.stdout
        assert not leaks(done.stdout + done.stderr)


def test_a_tool_itself_works_with_the_real_value(armed):
    """Inside the process nothing is masked."""
    with onetool_runtime() as ot:
        assert ot.call("mine.use").data == len(CANARY)


def test_no_listing_and_no_repr_shows_the_secret(armed):
    """Settings shown, tools listed, configuration printed: names only."""
    configuration = load_configuration(find_places(armed.env, armed.cwd), {})
    assert not leaks(repr(configuration))
    for args in (["config", "show"], ["tools", "list"], ["tools", "info", "mine.give"], ["config", "path"]):
        done = onetool(*args)
        assert not leaks(done.stdout + done.stderr)
        assert done.returncode == 0
