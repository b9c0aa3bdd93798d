"""`ot.result`: stored outputs by line, by pattern, by likeness."""

import asyncio
from typing import Any

import pytest

from onetool import onetool_runtime
from onetool.domain.stored import query
from onetool.runtime import CodeResult
from onetool.sdk import call_tool, get_pack
from onetool.testing import memory_runtime

NUMBERED = "".join(f"line {n}\n" for n in range(1, 501))
MIXED = "".join(f"error {n}\n" if n % 8 == 0 and n <= 480 else f"fine {n}\n" for n in range(1, 501))


async def ask(text: str, settings: dict[str, Any] | None = None, **args: Any) -> Any:
    """Store a text, and ask for lines of it."""
    async with memory_runtime(settings=settings) as ot:
        handle = ot.runtime.results.put(text, "demo.tool").handle
        result = await ot.call("ot.result", handle=handle, **args)
        assert result.ok, result
        return result.data


@pytest.mark.spec("OT-111")
async def test_a_large_result_is_stored_and_summed_up():
    """The summary is smaller than the limit; structured values are stored one element a line."""
    async with memory_runtime() as ot:
        text = await ot.runtime.text_of(await ot.run("{f'key {n}': 'x' * 180 for n in range(1000)}"))
        assert len(text.encode()) < 50_000
        handle = text.partition("stored as '")[2][:12]
        answer = (await ot.call("ot.result", handle=handle, limit=10)).data
        assert answer["returned"] == len(answer["lines"]) == 10
        assert answer["lines"][1].startswith('  "key 0": "xxx')
        assert await ot.runtime.text_of(await ot.run("'small'")) == "small"
        assert await ot.runtime.text_of(await ot.run("print(1)")) == "1\n"
        failed = await ot.runtime.text_of(await ot.run("print(1)\n1 / 0"))
        assert failed == "1\nError: line 2: ZeroDivisionError: division by zero"


@pytest.mark.spec("OT-111")
@pytest.mark.parametrize(
    "text", ["x" * 80_000, "\0\x01" * 40_000, "\n" * 80_000, "[" * 80_000, "漢" * 30_000]
)
async def test_a_preview_is_smaller_than_the_original_whatever_its_shape(text):
    """One long line, binary rubbish, only line feeds: preview and answer stay small, and say what was cut."""
    async with memory_runtime() as ot:
        shown = await ot.runtime.text_of(CodeResult(True, text))
        assert len(shown.encode("utf-8", "replace")) < 10_000
        handle = shown.partition("stored as '")[2][:12]
        answer = (await ot.call("ot.result", handle=handle)).data
    assert len(str(answer).encode("utf-8", "replace")) < 50_000
    assert text.count("\n") > 100 or "[cut" in answer["lines"][0]


@pytest.mark.spec("OT-112", "OT-124")
async def test_the_first_hundred_lines_by_default():
    """offset 1 is the first line."""
    answer = await ask(NUMBERED)
    assert answer["lines"] == [f"line {n}" for n in range(1, 101)]
    assert (await ask(NUMBERED, offset=1, limit=1))["lines"] == ["line 1"]


@pytest.mark.spec("OT-113")
async def test_any_part_by_offset_and_limit():
    """Lines 101 to 150."""
    assert (await ask(NUMBERED, offset=101, limit=50))["lines"] == [f"line {n}" for n in range(101, 151)]


@pytest.mark.spec("OT-114")
async def test_lines_that_match_a_pattern():
    """A regular expression, case-sensitive unless it says otherwise; a bad one is a ValueError."""
    assert all("error" in line for line in (await ask(MIXED, search="error"))["lines"])
    assert (await ask(MIXED, search="^err.*[0-9]$"))["returned"] == 60
    assert (await ask(MIXED, search="ERROR"))["returned"] == 0
    assert (await ask(MIXED, search="(?i)ERROR"))["returned"] == 60
    async with memory_runtime() as ot:
        handle = ot.runtime.results.put("x", "a.b").handle
        result = await ot.call("ot.result", handle=handle, search="(")
    assert result.meta.exception == "ValueError"


@pytest.mark.spec("OT-115", "OT-123")
async def test_offset_and_limit_count_the_matching_lines():
    """60 matches: the second page holds 10, and there is no more."""
    first, second = (
        await ask(MIXED, search="error", limit=50),
        await ask(MIXED, search="error", offset=51, limit=50),
    )
    assert (first["returned"], first["has_more"]) == (50, True)
    assert (second["returned"], second["has_more"]) == (10, False)
    assert (await ask(NUMBERED))["has_more"] is True
    assert (await ask(NUMBERED, offset=401))["has_more"] is False
    beyond = await ask(NUMBERED, offset=501)
    assert (beyond["lines"], beyond["returned"], beyond["has_more"]) == ([], 0, False)


@pytest.mark.spec("OT-116", "OT-117")
async def test_lines_that_are_like_it_the_best_first():
    """A typo finds it, what is unlike does not come; filter, sort, then page."""
    text = "loading configuration file\nconfiguration\nzebra\nconfig\n"
    ordered = ["config", "configuration", "loading configuration file"]
    assert (await ask(text, search="config", fuzzy=True))["lines"] == ordered
    typo = (await ask(text, search="confg", fuzzy=True))["lines"]
    assert "configuration" in typo
    assert "zebra" not in typo
    page = await ask(text, search="config", fuzzy=True, offset=2, limit=1)
    assert (page["lines"], page["has_more"]) == (["configuration"], True)


@pytest.mark.spec("OT-118", "OT-125", "OT-126")
async def test_unknown_is_a_text_and_a_mistake_is_an_error():
    """Inside the process and inside code: the one is returned, the other raised with its exact words."""
    seen = []

    def work() -> None:
        for use in (lambda **a: call_tool("ot.result", **a), lambda **a: get_pack("ot").result(**a)):
            seen.append(use(handle="nonexistent"))
            for wrong, said in [
                ({"offset": 0}, "offset must be >= 1 (1-indexed), got 0"),
                ({"offset": -3}, "offset must be >= 1 (1-indexed), got -3"),
                ({"limit": 0}, "limit must be >= 1, got 0"),
            ]:
                with pytest.raises(ValueError, match="must be") as caught:
                    use(handle="nonexistent", **wrong)
                assert str(caught.value) == said

    async with memory_runtime({"demo": [work]}) as ot:
        assert (await ot.call("demo.work")).ok
        seen.append((await ot.run("r = ot.result(handle='nonexistent')\nr")).data)
        code = "try:\n    ot.result(handle='x', offset=0)\nexcept ValueError as e:\n    r = str(e)\nr"
        assert (await ot.run(code)).data == "offset must be >= 1 (1-indexed), got 0"
        outside = await ot.call("ot.result", handle="nonexistent")
    assert len(seen) == 3
    assert all("not found" in text for text in seen)
    assert not outside.ok


@pytest.mark.spec("OT-119")
async def test_expired_is_said_to_be_expired():
    """Not "not found"."""
    async with memory_runtime(settings={"output": {"ttl_s": 0.1}}) as ot:
        handle = ot.runtime.results.put("x", "a.b").handle
        await asyncio.sleep(0.2)
        result = await ot.call("ot.result", handle=handle)
    assert "expired" in result.data
    assert "not found" not in result.data


@pytest.mark.spec("OT-120", "OT-121", "OT-122")
@pytest.mark.parametrize(
    ("text", "total"),
    [(NUMBERED, 500), (NUMBERED.rstrip(), 500), ("a\r\nb\r\n", 2), ("a\fb\u2028c\n", 1), ("", 0)],
)
async def test_the_answer_counts_the_lines_of_the_whole(text, total):
    """Only line feeds end a line, and a last one begins no other; filters do not change the total."""
    answer = await ask(text)
    assert list(answer) == ["lines", "total_lines", "returned", "offset", "has_more"]
    assert all(isinstance(line, str) for line in answer["lines"])
    assert (answer["total_lines"], answer["returned"], answer["offset"]) == (total, len(answer["lines"]), 1)
    assert (await ask(text, search="nothing like this"))["total_lines"] == total


@pytest.mark.spec("OT-127", "OT-128", "OT-129")
def test_each_question_is_logged_as_a_span(home):
    """One record with what was asked for."""
    with onetool_runtime() as ot:
        ot.call("ot.result", handle="abc", offset=2, limit=3, search="x")
        ot.call("ot.result", handle="abc")
    spans = [record["inputs"] for record in home.log() if record["message"] == "span"]
    assert spans == [
        {"handle": "abc", "offset": 2, "limit": 3, "search": "x"},
        {"handle": "abc", "offset": 1, "limit": 100},
    ]
    assert {record["span"] for record in home.log()} == {"ot.result"}


@pytest.mark.spec("OT-130")
async def test_the_version_is_a_text():
    """As the package says it."""
    async with memory_runtime() as ot:
        assert (await ot.call("ot.version")).data == "0.1.0"


def test_a_page_never_grows_over_its_bytes():
    """Fewer lines come when they are long, and there is more."""
    answer = query(["x" * 1500] * 100, offset=1, limit=100, search=None, fuzzy=False, most_bytes=10_000)
    assert answer["returned"] < 10
    assert answer["has_more"]


async def test_a_part_of_json_by_its_path():
    """Keys and positions; a wrong step names the nearest, and what is no JSON says so."""
    text = '{"items": [{"name": "Ada"}, {"name": ["b", "c"]}]}'
    assert (await ask(text, path="items.0.name"))["lines"] == ["Ada"]
    assert (await ask(text, path="items.1.name"))["lines"] == ["[", '  "b",', '  "c"', "]"]
    async with memory_runtime() as ot:
        handle = ot.runtime.results.put(text, "a.b").handle
        for path, said in [("itms", "Did you mean items?"), ("items.9", "'9'"), ("items.0.name.x", "'x'")]:
            assert said in (await ot.call("ot.result", handle=handle, path=path)).error.message
        plain = ot.runtime.results.put("no json", "a.b").handle
        assert "results that are JSON" in (await ot.call("ot.result", handle=plain, path="a")).error.message
