"""`ot.result`: pages of stored outputs, by line, pattern or similarity."""

from importlib.metadata import version
from typing import Any

import pytest
import yaml

from onetool import onetool_runtime
from onetool.runtime.runtime import CodeResult
from onetool.sdk import call_tool, get_pack
from onetool.testing import memory_runtime

NUMBERED = "".join(f"line {n}\n" for n in range(1, 501))
MIXED = "".join(f"error {n}\n" if n % 8 == 0 and n <= 480 else f"fine {n}\n" for n in range(1, 501))


async def query_result(text: str, settings: dict[str, Any] | None = None, **args: Any) -> Any:
    """Store a text and query it with `ot.result`."""
    async with memory_runtime(settings=settings) as ot:
        handle = (await ot.runtime.state.results.put(text, "demo.tool", owner="local")).handle
        result = await ot.call("ot.result", handle=handle, **args)
        assert result.ok, result
        return result.data


@pytest.mark.spec("OT-111")
async def test_large_result_is_stored_and_replaced_by_a_preview():
    """Structured values are stored with one record per line."""
    async with memory_runtime() as ot:
        text = (
            await ot.runtime.state.model_output.render_run(
                await ot.run("{f'key {n}': 'x' * 180 for n in range(1000)}")
            )
        ).text
        assert len(text.encode()) < 50_000
        handle = text.partition("stored as '")[2][:32]
        page = (await ot.call("ot.result", handle=handle, limit=10)).data
        assert page["returned"] == len(page["lines"]) == 10
        assert page["lines"][0].startswith('"key 0": xxx')
        assert (await ot.runtime.state.model_output.render_run(await ot.run("'small'"))).text == "small"
        assert (await ot.runtime.state.model_output.render_run(await ot.run("print(1)"))).text == "1\n"
        failed = (await ot.runtime.state.model_output.render_run(await ot.run("print(1)\n1 / 0"))).text
        assert failed == "1\nError: line 2: ZeroDivisionError: division by zero\n    1 / 0"


@pytest.mark.spec("OT-111")
async def test_stored_records_are_found_whole_and_their_values_are_read_by_path():
    """A match is a whole record with its line number, and `path` reads what the code returned."""
    record = "{'name': f'tool_{n}', 'description': f'What {n} does', 'tags': ['a', 'b']}"
    code = f"[{record} for n in range(1500)]"
    for printed, prefix in (("", 0), ("print('before')\n", 1)):
        async with memory_runtime() as ot:
            rendered = await ot.runtime.state.model_output.render_run(await ot.run(printed + code))
            handle, is_stored = rendered.handle, f"stored as '{rendered.handle}'" in rendered.text
            assert is_stored
            found = (await ot.call("ot.result", handle=handle, search="tool_77\\b")).data
            line = '- {name: tool_77, description: "What 77 does", tags: [a, b]}'
            assert (found["lines"], found["line_numbers"]) == ([line], [78 + prefix])
            around = (await ot.call("ot.result", handle=handle, offset=77 + prefix, limit=3)).data["lines"]
            assert ["tool_76" in around[0], around[1] == line, "tool_78" in around[2]] == [True] * 3
            assert (await ot.call("ot.result", handle=handle)).data["total_lines"] == 1500 + prefix
            part = (await ot.call("ot.result", handle=handle, path="77.tags.1")).data
            assert part["lines"] == ["b"]


async def test_large_listing_of_tools_is_stored_with_one_tool_a_line():
    """Whether the listing itself is called, or code returns it."""

    def make(number):
        def function() -> str:
            return ""

        function.__name__, function.__doc__ = (
            f"tool_{number}",
            f"Do what number {number} does. " + "Long. " * 9,
        )
        return function

    async with memory_runtime({"many": [make(number) for number in range(900)]}) as ot:
        output = ot.runtime.state.model_output
        listed = (await ot.call("ot.tools", info="full")).data
        for rendered in (
            await output.render_value(listed, "ot.tools"),
            await output.render_run(await ot.run("ot.tools(info='full')")),
        ):
            assert rendered.handle
            arguments = {"handle": rendered.handle, "search": "many.tool_77\\b"}
            (line,) = (await ot.call("ot.result", **arguments)).data["lines"]
            assert "Do what number 77 does." in line
            page = (await ot.call("ot.result", handle=rendered.handle)).data
            assert page["total_lines"] == len(listed)


async def test_page_of_a_stored_result_is_shown_with_a_line_each():
    text = "\n".join(f"line {number} is long enough" for number in range(1, 41))
    async with memory_runtime() as ot:
        handle = (await ot.runtime.state.results.put(text, "demo.tool", owner="local")).handle
        for code in (f"ot.result(handle={handle!r})", f"x = ot.result(handle={handle!r})\nx"):
            shown = (await ot.runtime.state.model_output.render_run(await ot.run(code))).text
            assert '\n  - "line 7 is long enough"\n' in shown or "\n  - line 7 is long enough\n" in shown
            assert yaml.safe_load(shown)["lines"] == text.split("\n")


@pytest.mark.parametrize("at", [1_990, 1_995, 2_000, 2_001, 30_000])
async def test_fuzzy_search_finds_a_match_anywhere_in_a_line(at):
    """Also where the parts of a long line meet."""
    text = "zzzz\n" + "-" * at + "configuration" + "-" * 500
    found = await query_result(text, search="confguration", fuzzy=True)
    assert (found["line_numbers"], found["has_more"]) == ([2], False)


@pytest.mark.parametrize(
    ("offset", "limit", "has_more"), [(1, 2, True), (1, 3, False), (3, 1, False), (2, 1, True)]
)
async def test_has_more_of_a_fuzzy_search_is_about_the_matches(offset, limit, has_more):
    text = "config a\nzebra\nconfig b\nzebra\nconfig c\nzebra"
    page = await query_result(text, search="config", fuzzy=True, offset=offset, limit=limit)
    assert (page["has_more"], page["total_lines"]) == (has_more, 6)
    assert page["line_numbers"] == [1, 3, 5][offset - 1 : offset - 1 + limit]


@pytest.mark.spec("OT-111")
@pytest.mark.parametrize(
    "text", ["x" * 80_000, "\0\x01" * 40_000, "\n" * 80_000, "[" * 80_000, "漢" * 30_000]
)
async def test_preview_and_shown_page_are_small_for_any_content(text):
    """The page itself is whole, and what is shown of it states what is left out."""
    async with memory_runtime() as ot:
        output = ot.runtime.state.model_output
        shown = (await output.render_run(CodeResult(True, text))).text
        assert len(shown.encode("utf-8", "replace")) < 10_000
        handle = shown.partition("stored as '")[2][:32]
        page = (await ot.call("ot.result", handle=handle)).data
        rendered = (await output.render_value(page, "ot.result")).text
    assert page["lines"] == (text.split("\n")[:100] if "\n" in text else [text])
    assert len(rendered.encode("utf-8", "replace")) < 50_000
    assert ("not_shown: " in rendered) == ("\n" not in text)


LONG_LINES = [f"line {n} ".ljust(600 + n % 7, "x") for n in range(1, 501)]
HUGE_LINES = [f"line {n} ".ljust(5_000, "é") for n in range(1, 41)]
ONE_LINE = ['"quotes" \\ and \u2028, 漢字, \U0001f600 ' * 6_000]


@pytest.mark.spec("OT-111", "OT-113")
@pytest.mark.parametrize("lines", [LONG_LINES, HUGE_LINES, ONE_LINE], ids=["long", "huge", "one"])
async def test_code_and_calls_get_every_line_and_character(lines):
    """Lines 101 to 150 are 50 lines, whatever their length."""
    async with memory_runtime() as ot:
        handle = (await ot.runtime.state.results.put("\n".join(lines), "demo.tool", owner="local")).handle
        page = (await ot.call("ot.result", handle=handle, offset=101, limit=50)).data
        code = f"r = ot.result(handle={handle!r}, limit=500)\n[sum(map_len), r['returned'], r['has_more']]"
        code = code.replace("map_len", "[len(line) for line in r['lines']]")
        in_code = (await ot.run(code)).data
    assert page["lines"] == lines[100:150]
    assert in_code == [sum(map(len, lines)), len(lines), False]


@pytest.mark.spec("OT-113")
async def test_fifty_lines_of_six_hundred_characters_are_shown_whole():
    async with memory_runtime() as ot:
        handle = (
            await ot.runtime.state.results.put("\n".join(LONG_LINES), "demo.tool", owner="local")
        ).handle
        code = f"ot.result(handle={handle!r}, offset=101, limit=50)"
        shown = yaml.safe_load((await ot.runtime.state.model_output.render_run(await ot.run(code))).text)
    assert shown["lines"] == LONG_LINES[100:150]
    assert list(shown) == ["lines", "total_lines", "returned", "offset", "has_more"]


@pytest.mark.spec("OT-111")
@pytest.mark.parametrize(
    ("lines", "args"),
    [
        (LONG_LINES, "limit=500"),
        (HUGE_LINES, "offset=3, limit=30"),
        (HUGE_LINES, "search='line .[05]', limit=10"),
        (ONE_LINE, "limit=100"),
        ([*ONE_LINE, "short", *ONE_LINE], "limit=3"),
        (ONE_LINE, "column=7, width=70000"),
    ],
    ids=["long", "huge", "search", "one", "mixed", "window"],
)
async def test_following_the_shown_calls_reads_everything(lines, args):
    """Every reply is within the limit, and no part of a page is stored again."""
    async with memory_runtime() as ot:
        handle = (await ot.runtime.state.results.put("\n".join(lines), "demo.tool", owner="local")).handle
        calls, read = [f"ot.result(handle={handle!r}, {args})"], []
        whole = (await ot.run(calls[0])).data
        while calls:
            call = calls.pop(0)
            text, stored = await ot.runtime.state.model_output.render_run(await ot.run(call))
            assert len(text.encode()) <= 50_000
            assert stored == ""
            shown = yaml.safe_load(text)
            assert shown["returned"] == len(shown["lines"]) > 0
            if "column=" in call and read:
                read[-1] += shown["lines"].pop(0)
            read += shown["lines"]
            calls = shown.get("read_on", []) + calls
    assert read == whole["lines"]
    assert len("".join(read).encode()) > 50_000


@pytest.mark.spec("OT-111")
async def test_page_that_is_too_large_names_what_is_not_shown_and_the_calls_that_read_on():
    async with memory_runtime(settings={"output": {"max_inline_size": 2_000}}) as ot:
        handle = (
            await ot.runtime.state.results.put("a" * 3_000 + "\nb\nc", "demo.tool", owner="local")
        ).handle
        code = f"print('before')\not.result(handle={handle!r})"
        text = (await ot.runtime.state.model_output.render_run(await ot.run(code))).text
    assert text.startswith("before\nlines:\n  - aaa")
    shown = yaml.safe_load(text.removeprefix("before\n"))
    count = len(shown["lines"][0])
    assert 1_000 < count < 2_000
    assert shown["not_shown"] == f"{3_000 - count} characters of the line and 2 lines"
    assert shown["read_on"] == [
        f"ot.result(handle={handle!r}, offset=1, limit=1, column={count + 1})",
        f"ot.result(handle={handle!r}, offset=2, limit=2)",
    ]


async def test_column_and_width_select_a_part_of_each_line():
    """A search sees whole lines."""
    text = "abcdef\nxy\nabcxyz"
    assert (await query_result(text, column=3))["lines"] == ["cdef", "", "cxyz"]
    assert (await query_result(text, column=2, width=3))["lines"] == ["bcd", "y", "bcx"]
    assert (await query_result(text, column=4, width=1, search="^abc"))["lines"] == ["d", "x"]
    async with memory_runtime() as ot:
        for args, message in [
            ({"column": 0}, "column must be >= 1 (1-indexed), got 0"),
            ({"width": 0}, "width must be >= 1, got 0"),
        ]:
            assert message in (await ot.call("ot.result", handle="x", **args)).error.message


@pytest.mark.spec("OT-112", "OT-113", "OT-124")
@pytest.mark.parametrize(
    ("args", "first", "last"),
    [
        ({}, 1, 100),
        ({"offset": 1, "limit": 1}, 1, 1),
        ({"offset": 101, "limit": 50}, 101, 150),
        ({"offset": 451, "limit": 50}, 451, 500),
        ({"limit": 400}, 1, 400),
        ({"offset": 101, "limit": 399}, 101, 499),
        ({"offset": 101, "limit": 100_000}, 101, 500),
    ],
)
async def test_page_of_long_lines_is_whole(args, first, last):
    """Lines of 100 to 300 characters come back unchanged. A limit beyond the end returns what there is."""
    lines = [f"line {n} ".ljust(100 + n * 37 % 201, "x") for n in range(1, 501)]
    assert {len(line) for line in lines} >= {100, 200, 300}
    page = await query_result("\n".join(lines), **args)
    assert page["lines"] == lines[first - 1 : last]
    assert (page["returned"], page["offset"], page["has_more"]) == (last - first + 1, first, last < 500)


@pytest.mark.spec("OT-114")
async def test_search_selects_lines_that_match_a_regular_expression(capfd):
    """Matching is case-sensitive by default; an invalid pattern is a ValueError."""
    assert all("error" in line for line in (await query_result(MIXED, search="error"))["lines"])
    assert (await query_result(MIXED, search="^err.*[0-9]$"))["returned"] == 60
    assert (await query_result(MIXED, search="ERROR"))["returned"] == 0
    assert (await query_result(MIXED, search="(?i)ERROR"))["returned"] == 60
    async with memory_runtime() as ot:
        handle = (await ot.runtime.state.results.put("x", "a.b", owner="local")).handle
        result = await ot.call("ot.result", handle=handle, search="(")
    assert result.meta.exception == "ValueError"
    assert result.error.message.endswith("Invalid search pattern: missing ): (")
    assert capfd.readouterr().err == ""


@pytest.mark.spec("OT-115", "OT-123")
async def test_offset_and_limit_apply_to_matching_lines():
    first, second = (
        await query_result(MIXED, search="error", limit=50),
        await query_result(MIXED, search="error", offset=51, limit=50),
    )
    assert (first["returned"], first["has_more"]) == (50, True)
    assert (second["returned"], second["has_more"]) == (10, False)
    assert (await query_result(NUMBERED))["has_more"] is True
    assert (await query_result(NUMBERED, offset=401))["has_more"] is False
    beyond = await query_result(NUMBERED, offset=501)
    assert (beyond["lines"], beyond["returned"], beyond["has_more"]) == ([], 0, False)


@pytest.mark.spec("OT-116", "OT-117")
async def test_fuzzy_search_returns_similar_lines_best_first():
    """Lines are filtered, sorted and then paged."""
    text = "loading configuration file\nconfiguration\nzebra\nconfig\n"
    ordered = ["config", "configuration", "loading configuration file"]
    assert (await query_result(text, search="config", fuzzy=True))["lines"] == ordered
    typo = (await query_result(text, search="confg", fuzzy=True))["lines"]
    assert "configuration" in typo
    assert "zebra" not in typo
    page = await query_result(text, search="config", fuzzy=True, offset=2, limit=1)
    assert (page["lines"], page["has_more"]) == (["configuration"], True)


@pytest.mark.spec("OT-118", "OT-125", "OT-126")
async def test_unknown_handle_returns_text_and_invalid_arguments_raise():
    """This applies in process and inside code."""
    messages = []

    def work() -> None:
        for query in (lambda **a: call_tool("ot.result", **a), lambda **a: get_pack("ot").result(**a)):
            messages.append(query(handle="nonexistent"))
            for args, message in [
                ({"offset": 0}, "offset must be >= 1 (1-indexed), got 0"),
                ({"offset": -3}, "offset must be >= 1 (1-indexed), got -3"),
                ({"limit": 0}, "limit must be >= 1, got 0"),
            ]:
                with pytest.raises(ValueError, match="must be") as caught:
                    query(handle="nonexistent", **args)
                assert str(caught.value) == message

    async with memory_runtime({"demo": [work]}) as ot:
        assert (await ot.call("demo.work")).ok
        messages.append((await ot.run("r = ot.result(handle='nonexistent')\nr")).data)
        code = "try:\n    ot.result(handle='x', offset=0)\nexcept ValueError as e:\n    r = str(e)\nr"
        assert (await ot.run(code)).data == "offset must be >= 1 (1-indexed), got 0"
        result = await ot.call("ot.result", handle="nonexistent")
    assert len(messages) == 3
    assert all("not found" in text for text in messages)
    assert not result.ok


@pytest.mark.spec("OT-119")
async def test_expired_result_is_reported_as_expired():
    """A lifetime that is shorter than the clock can measure has always ended."""
    async with memory_runtime(settings={"output": {"ttl_s": 1e-9, "max_inline_size": 100}}) as ot:
        handle = (await ot.runtime.state.model_output.shorten("x" * 101, "a.b")).handle
        result = await ot.call("ot.result", handle=handle)
    assert "expired" in result.data
    assert "not found" not in result.data


@pytest.mark.spec("OT-120", "OT-121", "OT-122")
@pytest.mark.parametrize(
    ("text", "total"),
    [(NUMBERED, 500), (NUMBERED.rstrip(), 500), ("a\r\nb\r\n", 2), ("a\fb\u2028c\n", 1), ("", 0)],
)
async def test_total_lines_counts_all_lines_regardless_of_filters(text, total):
    """Only line feeds end a line, and a trailing one starts no other."""
    page = await query_result(text)
    assert list(page) == ["lines", "total_lines", "returned", "offset", "has_more"]
    assert all(isinstance(line, str) for line in page["lines"])
    assert (page["total_lines"], page["returned"], page["offset"]) == (total, len(page["lines"]), 1)
    assert (await query_result(text, search="nothing like this"))["total_lines"] == total


@pytest.mark.spec("OT-127", "OT-128", "OT-129")
def test_each_query_is_logged_as_a_span_with_its_inputs(home):
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
async def test_version_equals_the_installed_distribution():
    async with memory_runtime() as ot:
        assert (await ot.call("ot.version")).data == version("onetool-gateway")


async def test_path_selects_a_part_of_a_json_result():
    """A wrong path names the closest key; a result that is not JSON is an error."""
    text = '{"items": [{"name": "Ada"}, {"name": ["b", "c"]}]}'
    assert (await query_result(text, path="items.0.name"))["lines"] == ["Ada"]
    assert (await query_result(text, path="items.1.name"))["lines"] == ["[", '  "b",', '  "c"', "]"]
    async with memory_runtime() as ot:
        handle = (await ot.runtime.state.results.put(text, "a.b", owner="local")).handle
        for path, message in [("itms", "Did you mean items?"), ("items.9", "'9'"), ("items.0.name.x", "'x'")]:
            assert message in (await ot.call("ot.result", handle=handle, path=path)).error.message
        plain = (await ot.runtime.state.results.put("no json", "a.b", owner="local")).handle
        assert "requires a JSON result" in (await ot.call("ot.result", handle=plain, path="a")).error.message
