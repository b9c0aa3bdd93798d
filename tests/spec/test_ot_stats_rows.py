"""`ot.stats`: calls, success rates, savings, and the HTML report."""

import asyncio
import json
import re
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.storage.memory.activity import MemoryActivity
from onetool.testing import memory_runtime
from support.activity import add, record
from support.onetool_process import onetool, start_onetool

FIELDS = {"total_calls", "success_rate", "context_saved", "time_saved_ms", "tools"}
DAY, MINUTE = 86_400.0, 60.0
EXTERNAL_REFERENCE = re.compile(
    r"""(?ix) \b(?:src|href|srcset|action|data|poster)\s*=\s*["']?\s*(?:https?:)?//
    | url\(\s*["']?\s*(?:https?:)?// | @import | \bfetch\( | XMLHttpRequest"""
)


def y(fail: bool = False) -> str:
    """Return a text, or fail."""
    if fail:
        raise ValueError("no")
    return "done"


PACKS = {"x": [y]}


async def activity_with_calls(**ages: list[float]) -> MemoryActivity:
    """Return a store with calls of `pack__tool` that happened the given seconds ago."""
    activity, now = MemoryActivity(), time.time()
    for name, tool_ages in ages.items():
        tool = name.replace("__", ".")
        await add(activity, *(record(tool, now - age) for age in tool_ages))
    return activity


async def stats(ot: Any, **args: Any) -> Any:
    result = await ot.call("ot.stats", **args)
    assert result.ok, result
    return result.data


def as_session(name: str) -> Caller:
    return Caller(interface="python", session=name, default_effect=Effect.ALLOW)


def cli(*words: str) -> str:
    done = onetool(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Return every path below a directory, with the content of files."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))}


class ParsedPage(HTMLParser):
    """The tags, attributes and text of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.spec("OT-33", "OT-34")
async def test_stats_have_all_fields_before_the_first_call(tmp_path):
    async with memory_runtime(PACKS, settings={"stats": {"enabled": True}}, cwd=tmp_path) as ot:
        fresh = await stats(ot)
        filtered = await stats(ot, period="all", tool="x.y", output="stats.html")
        text = (await ot.runtime.state.model_output.render_run(await ot.run("ot.stats(tool='x.y')"))).text
    for shown in (fresh, filtered, yaml.safe_load(text)):
        assert set(shown) >= FIELDS
        numbers = [shown[field] for field in FIELDS - {"tools"}]
        assert all(isinstance(number, int | float) and number >= 0 for number in numbers)
        assert (shown["total_calls"], shown["tools"]) == (0, {})


@pytest.mark.spec("OT-35")
@pytest.mark.parametrize("count", [1, 7, 60])
async def test_every_call_is_counted_when_it_ends(count):
    """Concurrent calls and calls from code are included."""
    async with memory_runtime(PACKS) as ot:
        await asyncio.gather(*[ot.call("x.y") for _ in range(count)])
        assert (await stats(ot, tool="x.y"))["total_calls"] == count
        assert (await ot.run("for n in range(3):\n    x.y()")).ok
        assert (await stats(ot, tool="x.y"))["total_calls"] == count + 3


@pytest.mark.spec("OT-35")
async def test_stats_do_not_count_the_running_stats_call():
    """A finished ot.stats call is counted like any other."""
    async with memory_runtime(PACKS) as ot:
        first, second = await stats(ot), await stats(ot)
        assert (first["total_calls"], first["tools"]) == (0, {})
        assert (second["total_calls"], set(second["tools"])) == (1, {"ot.stats"})


@pytest.mark.spec("OT-36", "OT-39")
@pytest.mark.parametrize(("good", "bad", "rate"), [(3, 1, 75.0), (4, 0, 100.0), (0, 2, 0.0), (1, 1, 50.0)])
async def test_success_rate_is_a_percentage_in_total_and_per_tool(good, bad, rate):
    async with memory_runtime(PACKS) as ot:
        for fail in [False] * good + [True] * bad:
            assert (await ot.call("x.y", fail=fail)).ok is not fail
        shown = await stats(ot, tool="x.y")
    assert (shown["success_rate"], shown["total_calls"]) == (rate, good + bad)
    assert shown["tools"]["x.y"].items() >= {"calls": good + bad, "success_rate": rate}.items()


@pytest.mark.spec("OT-37")
async def test_context_savings_count_once_per_session():
    """The first code of a session saves the tool definitions; further small calls save nothing."""
    activity, savings = MemoryActivity(), []
    for session in ("s1", "s2"):
        async with memory_runtime(PACKS, activity=activity, caller=as_session(session)) as ot:
            savings.append((await stats(ot))["context_saved"])
            for _ in range(2):
                assert (await ot.run("x.y()")).ok
                savings.append((await stats(ot))["context_saved"])
    before, first, further, restart, second, last = savings
    assert before == 0
    assert first > before
    assert further == restart == first
    assert second > restart
    assert last == second


@pytest.mark.spec("OT-37")
async def test_stored_result_saves_its_tokens_minus_those_of_its_preview():
    """Two results of different size and the same preview show how many tokens one byte counts.

    A small result, which is not stored, saves nothing.
    """
    settings, sizes, previews, savings = {"output": {"max_inline_size": 5_000}}, [6_000, 60_000], [], []
    async with memory_runtime(settings=settings, caller=as_session("s1")) as ot:
        await ot.run("1")
        before = (await stats(ot))["context_saved"]
        await ot.runtime.state.model_output.render_run(await ot.run("'small'"))
        assert (await stats(ot))["context_saved"] == before
        for size in sizes:
            result = await ot.run(f"('x' * 99 + '\\n') * {size // 100}")
            previews.append(len((await ot.runtime.state.model_output.render_run(result)).text))
            after = (await stats(ot))["context_saved"]
            savings.append(after - before)
            before = after
    assert 1_000 < previews[0] < 5_000
    assert previews[1] == pytest.approx(previews[0], abs=20)
    tokens_per_byte = (savings[1] - savings[0]) / (sizes[1] - sizes[0])
    assert tokens_per_byte > 0
    assert savings[0] == pytest.approx(tokens_per_byte * (sizes[0] - previews[0]), rel=0.02)


@pytest.mark.spec("OT-38")
@pytest.mark.parametrize("calls", [0, 1, 2, 3, 10])
async def test_each_call_of_a_run_after_the_first_saves_a_round_trip(calls):
    """A run itself needs one round trip, as a single call does."""
    async with memory_runtime(PACKS, settings={"stats": {"round_trip_ms": 1000}}) as ot:
        for runs in (1, 2):
            assert (await ot.run(f"for n in range({calls}):\n    x.y()")).ok
            assert (await stats(ot))["time_saved_ms"] == runs * max(calls - 1, 0) * 1000


@pytest.mark.spec("OT-38")
def test_calls_from_code_save_time_on_the_command_line(home):
    """A single direct call saves none."""

    def read_stats() -> dict[str, Any]:
        return json.loads(cli("tools", "invoke", "ot.stats"))["data"]

    home.write("onetool.yaml", "stats: {round_trip_ms: 700}\n")
    cli("tools", "invoke", "tools.echo", "--args", '{"message": 1}')
    single = read_stats()
    assert (single["tools"]["tools.echo"]["calls"], single["time_saved_ms"]) == (1, 0)
    cli("run", "[tools.echo(message=n) for n in range(3)]")
    three = read_stats()
    assert three["tools"]["tools.echo"]["calls"] == 4
    assert three["time_saved_ms"] == 2 * 700


@pytest.mark.spec("OT-40", "OT-41")
@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        ([0, 3 * DAY, 10 * DAY, 40 * DAY], [1, 2, 3, 4]),
        (
            [edge + side for edge in (DAY, 7 * DAY, 30 * DAY) for side in (-MINUTE, MINUTE)],
            [1, 3, 5, 6],
        ),
    ],
)
async def test_period_covers_the_last_day_week_or_month(ages, expected):
    """The periods are 24 hours, 7 days and 30 days, for one tool and in total."""
    async with memory_runtime(PACKS, activity=await activity_with_calls(x__y=ages)) as ot:
        shown = [await stats(ot, period=period, tool="x.y") for period in ("day", "week", "month", "all")]
        assert [found["total_calls"] for found in shown] == expected
        assert [found["tools"]["x.y"]["calls"] for found in shown] == expected
        assert (await stats(ot, tool="x.y"))["total_calls"] == expected[-1]
        assert (await stats(ot, period="week"))["tools"]["x.y"]["calls"] == expected[1]


@pytest.mark.spec("OT-39", "OT-42")
async def test_stats_of_one_tool_exclude_tools_with_similar_names():
    activity = await activity_with_calls(brave__search=[1, 2], brave__search_all=[1], x__y=[1, 2, 3])
    async with memory_runtime(PACKS, activity=activity) as ot:
        shown = await stats(ot, tool="brave.search")
        whole = await stats(ot, period="all")
    assert (shown["total_calls"], set(shown["tools"])) == (2, {"brave.search"})
    assert shown["tools"]["brave.search"]["calls"] == 2
    counts = {name: entry["calls"] for name, entry in whole["tools"].items()}
    assert counts == {"brave.search": 2, "brave.search_all": 1, "x.y": 3, "ot.stats": 1}
    assert whole["total_calls"] == 7


@pytest.mark.spec("OT-43", "OT-44")
@pytest.mark.parametrize("output", ["stats.html", "sub/stats.html", "{cwd}/stats.html"])
async def test_report_is_written_to_the_requested_file(output, tmp_path):
    """The result contains the statistics and the path of the page."""
    (tmp_path / "sub").mkdir()
    path = output.format(cwd=tmp_path)
    async with memory_runtime(
        PACKS, activity=await activity_with_calls(brave__search=[1], x__y=[1]), cwd=tmp_path
    ) as ot:
        shown = await stats(ot, output=path)
        plain = await stats(ot)
    assert set(shown) >= FIELDS
    assert (tmp_path / shown["html_report"]).resolve() == (tmp_path / path).resolve()
    assert "html_report" not in plain
    text = (tmp_path / path).read_text(encoding="utf-8")
    assert "<html" in text
    assert "brave.search" in text
    assert "x.y" in text


@pytest.mark.spec("OT-43")
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'&lt;b&gt;</style><b>"]
)
async def test_tool_names_are_escaped_in_the_report(name, tmp_path):
    pages: dict[str, list[ParsedPage]] = {}
    for tool in ("x.y", name):
        activity = MemoryActivity()
        await add(activity, record(tool, time.time()))
        async with memory_runtime(activity=activity, cwd=tmp_path) as ot:
            for args in ({}, {"tool": tool}):
                await stats(ot, output="stats.html", **args)
                text = (tmp_path / "stats.html").read_text(encoding="utf-8")
                assert name not in text
                pages.setdefault(tool, []).append(ParsedPage(text))
    for plain, hostile in zip(pages["x.y"], pages[name], strict=True):
        assert name in hostile.text
        assert set(hostile.tags) == set(plain.tags)
        assert hostile.attributes == plain.attributes


@pytest.mark.spec("OT-43")
async def test_report_has_no_external_references(tmp_path):
    async with memory_runtime(activity=await activity_with_calls(x__y=[1, DAY * 2]), cwd=tmp_path) as ot:
        await stats(ot, output="stats.html")
    text = (tmp_path / "stats.html").read_text(encoding="utf-8")
    assert "x.y" in text
    assert [found.group() for found in EXTERNAL_REFERENCE.finditer(text)] == []
    assert {"iframe", "object", "embed", "base"}.isdisjoint(ParsedPage(text).tags)


@pytest.mark.guards("model-files")
@pytest.mark.spec("OT-46")
@pytest.mark.parametrize(
    "output",
    [
        "f.txt/report.html",
        "report.txt",
        "report",
        "report.html.txt",
        ".bashrc",
        "f.txt",
        "../out.html",
        "../new.html",
        "{outside}/new.html",
        "sub/../../new.html",
        "page.html",
        "empty.html",
        "folder.html",
        "link.html",
        "dangling.html",
        "away/out.html",
        "away/new.html",
        "a\0.html",
        "x" * 300 + ".html",
    ],
)
async def test_report_is_not_written_to_a_forbidden_path(output, tmp_path):
    """Outside the working directory, with another suffix, or over a file that is not a report."""
    work = tmp_path / "work"
    for folder in (work, work / "sub", work / "folder.html"):
        folder.mkdir()
    (tmp_path / "out.html").write_text("outside")
    (work / "f.txt").write_text("a file")
    (work / "page.html").write_text("<html>mine</html>")
    (work / "empty.html").touch()
    (work / "link.html").symlink_to(tmp_path / "out.html")
    (work / "dangling.html").symlink_to(tmp_path / "new.html")
    (work / "away").symlink_to(tmp_path)
    before, path = snapshot(tmp_path), output.format(outside=tmp_path)
    async with memory_runtime(PACKS, activity=await activity_with_calls(x__y=[1]), cwd=work) as ot:
        result = await ot.call("ot.stats", output=path)
        in_code = await ot.run(f"ot.stats(output={path!r})")
    start = f"Error: Cannot write to '{path}': "
    assert result.ok is False
    for message in (result.data, in_code.data):
        assert isinstance(message, str)
        assert message.startswith(start)
        assert message.removeprefix(start).strip()
    assert snapshot(tmp_path) == before


@pytest.mark.spec("OT-43", "OT-44")
@pytest.mark.parametrize("cwd", ["/", "~"])
def test_report_goes_to_the_reports_directory_if_the_working_directory_is_not_allowed(cwd, home, monkeypatch):
    """MCP clients often start OneTool there. Only reports are replaced."""
    user = home.root / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    reports = home.root / "data" / "reports"
    folder = user if cwd == "~" else Path(cwd)
    for _ in range(2):
        done = onetool("tools", "invoke", "ot.stats", "--args", '{"output": "stats.html"}', cwd=folder)
        assert done.returncode == 0, done
        shown = json.loads(done.stdout)["data"]
        assert Path(shown["html_report"]).resolve() == (reports / "stats.html").resolve()
        assert "<html" in (reports / "stats.html").read_text(encoding="utf-8")
    (reports / "mine.html").write_text("<html>mine</html>")
    before = snapshot(home.root / "data" / "reports")
    for output in ("mine.html", "../out.html", "sub/stats.html", "..", "/new.html", "a\0.html", "stats.txt"):
        done = onetool("tools", "invoke", "ot.stats", "--args", json.dumps({"output": output}), cwd=folder)
        assert done.returncode == 1, done
        assert f"Error: Cannot write to '{output}': " in json.loads(done.stdout)["data"]
    assert snapshot(reports) == before
    assert list(user.iterdir()) == []


@pytest.mark.spec("OT-45")
async def test_disabled_stats_return_an_error_and_count_nothing(tmp_path):
    activity = MemoryActivity()
    disabled = {"stats": {"enabled": False}}
    async with memory_runtime(PACKS, activity=activity, settings=disabled, cwd=tmp_path) as ot:
        assert (await ot.call("x.y")).ok
        for args in ({}, {"period": "day", "tool": "x.y"}, {"output": "stats.html"}):
            result = await ot.call("ot.stats", **args)
            assert result.ok is False
            assert re.match(r"Error: .*disabled", result.data)
        assert (await ot.run("ot.stats()")).data == (await ot.call("ot.stats")).data
    assert list(tmp_path.iterdir()) == []
    async with memory_runtime(PACKS, activity=activity) as ot:
        assert (await stats(ot, tool="x.y"))["total_calls"] == 0


@pytest.mark.spec("OT-41", "OT-47")
@pytest.mark.parametrize("period", ["invalid", "year", "", "Day", " day", "days"])
async def test_unknown_period_returns_an_error_with_the_valid_ones(period):
    expected = (
        f"Error: Invalid period '{period}'. Valid: day, week, month, all. Example: ot.stats(period='day')"
    )
    async with memory_runtime(PACKS) as ot:
        result = await ot.call("ot.stats", period=period)
        code = await ot.run(f"ot.stats(period={period!r})")
        assert (result.ok, result.data) == (False, expected)
        assert (await ot.runtime.state.model_output.render_run(code)).text == expected


@pytest.mark.spec("OT-35")
def test_concurrent_processes_lose_no_calls(home):
    code = "[tools.echo(message=n) for n in range(5)]"
    children = [start_onetool("run", code, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [child.wait(60) for child in children] == [0] * 4
    assert cli("run", "ot.stats(tool='tools.echo')['total_calls']").strip() == "20"


@pytest.mark.spec("OT-43", "OT-44")
def test_report_of_an_earlier_process_is_replaced(home):
    """A report is recognized by its content."""
    report = home.cwd / "stats.html"
    contents = []
    for tool in ("shell.pwd()", "time.now()"):
        cli("run", tool)
        shown = cli("run", "ot.stats(output='stats.html')['html_report']").strip()
        assert (home.cwd / shown).resolve() == report.resolve()
        contents.append(report.read_text(encoding="utf-8"))
    assert ["time.now" in text for text in contents] == [False, True]
    assert list(home.cwd.iterdir()) == [report]
