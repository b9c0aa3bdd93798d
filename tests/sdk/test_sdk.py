"""The SDK: calls of other tools, settings, secrets, files, batches."""

import asyncio
import json
import re
from dataclasses import replace
from importlib import metadata
from typing import Any

import pytest
import yaml

from onetool.domain.errors import NoActiveRuntime
from onetool.domain.identity.principal import Principal
from onetool.domain.secrets.secret import Secret
from onetool.sdk import (
    allowed_path,
    batch_execute,
    call_tool_async,
    check_deps,
    get_config,
    get_pack,
    get_secret,
    lazy_client,
    report_progress,
    requires_lib,
    tool,
)
from onetool.testing import memory_runtime
from support.onetool_process import onetool
from support.paths import PROJECT


async def run_as_tool(function: Any, **options: Any) -> Any:
    """Run a function as a tool and return the result."""
    function.__name__ = "work"
    async with memory_runtime({"demo": [function]}, **options) as ot:
        return await ot.call("demo.work")


def test_async_call_without_a_runtime_names_onetool_runtime():
    with pytest.raises(NoActiveRuntime, match="onetool_runtime"):
        asyncio.run(call_tool_async("time.now"))


async def test_settings_by_dotted_path_and_secrets_by_name():
    """A missing value is None or the default."""

    def work() -> Any:
        return [
            get_config("execution.timeout_s"),
            get_config("execution.nothing", "default"),
            get_config("execution.timeout_s.deeper"),
            get_secret("NOTHING"),
            len(get_secret("KEY") or ""),
        ]

    result = await run_as_tool(work, settings={"execution": {"timeout_s": 5}}, secrets={"KEY": "hunter2"})
    assert result.data == [5, "default", None, None, 7]


def test_tool_decorator_returns_the_same_function():

    def f() -> int:
        return 1

    assert tool(f) is f
    assert tool(timeout=1)(f) is f


async def test_path_outside_the_roots_names_the_setting(tmp_path):

    def work() -> str:
        return str(allowed_path("/etc/passwd"))

    result = await run_as_tool(work, cwd=tmp_path)
    assert "fs.roots" in result.error.message


def test_progress_outside_a_tool_is_ignored():
    assert report_progress(1, 2, "half") is None
    assert batch_execute(["a"], str.upper) == "=== a ===\nA"


@pytest.mark.parametrize(
    ("items", "max_workers", "message"),
    [
        ([("a", "A", "more")], None, "pair, not a tuple of 3: ('a', 'A', 'more')"),
        ([("a",)], None, "not a tuple of 1"),
        (["a"], 0, "max_workers must be >= 1, got 0"),
        (["a"], -1, "max_workers must be >= 1, got -1"),
    ],
)
def test_invalid_batch_is_rejected_before_anything_runs(items, max_workers, message):
    ran = []
    with pytest.raises(ValueError, match=re.escape(message)):
        batch_execute(items, ran.append, max_workers)
    assert ran == []


def test_batch_item_that_exits_does_not_stop_the_others():
    def process(item: str) -> str:
        if item == "b":
            raise SystemExit(3)
        return item.upper()

    assert batch_execute(["a", "b", "c"], process).split("\n\n") == [
        "=== a ===\nA",
        "=== b ===\nError: SystemExit: 3",
        "=== c ===\nC",
    ]


async def test_pack_proxy_has_only_the_tools_of_the_pack():
    """An unknown name is an AttributeError that suggests the closest tool."""

    def work() -> list[Any]:
        pack = get_pack("time")
        names = ("now", "nwo", "__len__")
        return [repr(pack), [hasattr(pack, name) for name in names], getattr(pack, "nwo", "none")]

    assert (await run_as_tool(work)).data == ["<pack time>", [True, False, False], "none"]
    result = await run_as_tool(lambda: get_pack("time").nwo())
    assert (result.meta.exception, "time.now" in result.error.message) == ("AttributeError", True)


@pytest.mark.parametrize(
    ("before", "documents"),
    [
        ("--- {at: x, topic: notes, mess", 0),
        ("---", 0),
        ('--- {at: x, topic: notes, message: "whole"}', 1),
        ("written: by hand", 1),
    ],
)
async def test_a_partially_written_note_is_removed(tmp_path, before, documents):
    """Text that a person wrote is unchanged."""
    file = tmp_path / "notes.yaml"
    file.write_text(before)
    async with memory_runtime(settings={"topics": [{"pattern": "*", "file": str(file)}]}) as ot:
        assert (await ot.call("ot.notify", topic="a", message="new")).data == f"OK: a -> {file}"
        loaded = list(yaml.safe_load_all(file.read_text()))
        assert (len(loaded), loaded[-1]["message"]) == (documents + 1, "new")
        file.unlink()
        file.mkdir()
        assert "Error: Cannot write the message" in (await ot.call("ot.notify", topic="a", message="x")).data


async def test_lazy_client_is_not_shared_between_callers_with_secrets_of_their_own():
    """A client that was created with the secret of one caller must not act for another."""
    client = lazy_client(lambda: get_secret("TOKEN"), "TOKEN")
    without_name = lazy_client(lambda: get_secret("TOKEN"))

    def work() -> Any:
        return [client(), without_name()]

    async with memory_runtime({"demo": [work]}, secrets={"TOKEN": "shared-value"}) as ot:
        seen = []
        for name in ("anna", "ben", "carl", "anna"):
            own = {"TOKEN": Secret(name="TOKEN", value=f"value-of-{name}")} if name != "carl" else {}
            caller = replace(ot.caller, principal=Principal(name), own_secrets=own)
            result = await ot.runtime.call_tool("demo.work", {}, caller, "sdk")
            seen.append(result.data)
    assert seen == [
        [f"value-of-{name}"] * 2 if name else ["shared-value"] * 2 for name in ("anna", "ben", "", "anna")
    ]


async def test_an_error_after_a_missing_secret_names_it_and_how_it_is_added():
    """Also that of the tool that called this one, once. An error without one is unchanged."""

    def read() -> int:
        return len(get_secret("NOTHING"))

    def outer() -> Any:
        get_secret("NOTHING")
        return get_pack("demo").read()

    def careful() -> str:
        return get_secret("NOTHING") or "none"

    def other() -> None:
        raise TypeError("unrelated")

    async with memory_runtime({"demo": [read, outer, careful, other]}) as ot:
        messages = [(await ot.call(f"demo.{name}")).error.message for name in ("read", "outer", "other")]
        assert (await ot.call("demo.careful")).data == "none"
    hint = "The secret 'NOTHING' is not set. Add it with: onetool secrets set NOTHING."
    assert [message.count(hint) for message in messages] == [1, 1, 0]


def test_secrets_that_the_code_of_a_pack_asks_for_are_requirements(home):
    """Found through the names that a function uses; one that it declares is listed once."""
    home.write(
        "tools/mine.py",
        "from onetool.sdk import *\n"
        "import onetool.sdk as sdk\n"
        "client = lazy_client(object, 'CLIENT')\n"
        "def _headers(): return sdk.api_headers(secret_name='HEADER')\n"
        "def one(): return client(), get_secret('OWN')\n"
        "@requires_secret('OWN')\n"
        "def two(): return _headers(), get_secret('OWN')\n"
        "def three(): return get_secret(one.__name__ and two.__name__)\n"
        "def none(name: str): return get_secret(name)\n",
    )
    done = onetool("check", "mine", "--json")
    needs = [(need["tool"], need["kind"], need["name"]) for need in json.loads(done.stdout)]
    assert sorted(needs) == [
        *(("mine.one", "secret", name) for name in ("CLIENT", "OWN")),
        *(("mine.three", "secret", name) for name in ("CLIENT", "HEADER", "OWN")),
        *(("mine.two", "secret", name) for name in ("HEADER", "OWN")),
    ]


async def test_the_library_of_a_module_with_another_name_has_its_version_and_is_named():
    tool_of_yaml = requires_lib("yaml")(lambda: None)
    tool_of_cv = requires_lib("cv2")(lambda: None)
    tool_of_yaml.__name__, tool_of_cv.__name__ = "read", "look"
    inner = requires_lib("google.nothing_of_this_name")(lambda: None)
    inner.__name__ = "inner"

    def work() -> Any:
        return check_deps("libs")

    async with memory_runtime({"demo": [work], "libs": [tool_of_yaml, tool_of_cv, inner]}) as ot:
        entries = {entry["name"]: entry for entry in (await ot.call("demo.work")).data}
    assert entries["yaml"]["version"] == metadata.version("pyyaml")
    assert entries["cv2"]["status"] == entries["google.nothing_of_this_name"]["status"] == "missing"
    assert entries["cv2"]["install"].endswith("opencv-python")


async def test_a_return_type_describes_the_result_and_is_not_checked():
    """The README claims that results are validated only where there is an output schema."""

    def count() -> int:
        return "abc"  # type: ignore[return-value]

    async with memory_runtime({"demo": [count]}) as ot:
        tool = await ot.runtime.state.catalog.find("demo.count")
        assert (await ot.call("demo.count")).data == "abc"
    assert (tool.spec.return_type, tool.spec.output_schema) == ("int", None)
    assert "results wherever a tool has an output schema" in (PROJECT / "README.md").read_text()
