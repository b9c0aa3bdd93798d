"""`ot.stats`: what was called, how well it went, what it spared, and a page that shows it."""

import asyncio
import json
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import onetool
from onetool.domain.caller import Caller, grant
from onetool.domain.usage import CallEvent
from onetool.storage.memory import MemoryUsage
from onetool.testing import memory_runtime

FIELDS = {"total_calls", "success_rate", "context_saved", "time_saved_ms", "tools"}
DAY, MINUTE = 86_400.0, 60.0
REACHES_OUT = re.compile(
    r"""(?ix) \b(?:src|href|srcset|action|data|poster)\s*=\s*["']?\s*(?:https?:)?//
    | url\(\s*["']?\s*(?:https?:)?// | @import | \bfetch\( | XMLHttpRequest"""
)


def y(fail: bool = False) -> str:
    """Do it."""
    if fail:
        raise ValueError("no")
    return "done"


PACKS = {"x": [y]}


def used(**ages: list[float]) -> MemoryUsage:
    """A store with calls of `pack__tool`, so many seconds ago."""
    usage, now = MemoryUsage(), time.time()
    for name, many in ages.items():
        tool = name.replace("__", ".")
        usage.add([CallEvent(tool=tool, at=now - age, ok=True) for age in many])
    return usage


async def stats(ot: Any, **args: Any) -> Any:
    result = await ot.call("ot.stats", **args)
    assert result.ok, result
    return result.data


def as_session(name: str) -> Caller:
    return Caller(door="python", session=name, approve=grant)


def cli(*words: str) -> str:
    done = onetool(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Every path below, with the content of files."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))}


class Page(HTMLParser):
    """The tags, attributes and the text of a page, as a browser would see them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.spec("OT-33", "OT-34")
async def test_statistics_have_five_fields_from_the_start(tmp_path):
    """Before anything was called, and with every keyword given."""
    async with memory_runtime(PACKS, settings={"stats": {"enabled": True}}, cwd=tmp_path) as ot:
        fresh = await stats(ot)
        given = await stats(ot, period="all", tool="x.y", output="stats.html")
        text = await ot.runtime.text_of(await ot.run("ot.stats(tool='x.y')"))
    for shown in (fresh, given, yaml.safe_load(text)):
        assert set(shown) >= FIELDS
        numbers = [shown[field] for field in FIELDS - {"tools"}]
        assert all(isinstance(number, int | float) and number >= 0 for number in numbers)
        assert (shown["total_calls"], shown["tools"]) == (0, {})


@pytest.mark.spec("OT-35")
@pytest.mark.parametrize("count", [1, 7, 60])
async def test_every_call_is_counted_at_once(count):
    """Calls beside each other and calls of code are in the figures as soon as they have ended."""
    async with memory_runtime(PACKS) as ot:
        await asyncio.gather(*[ot.call("x.y") for _ in range(count)])
        assert (await stats(ot, tool="x.y"))["total_calls"] == count
        assert (await ot.run("for n in range(3):\n    x.y()")).ok
        assert (await stats(ot, tool="x.y"))["total_calls"] == count + 3


@pytest.mark.spec("OT-35")
async def test_asking_for_statistics_is_not_in_its_own_figures():
    """A running ot.stats does not count itself; one that has ended is a call like any other."""
    async with memory_runtime(PACKS) as ot:
        first, second = await stats(ot), await stats(ot)
        assert (first["total_calls"], first["tools"]) == (0, {})
        assert (second["total_calls"], set(second["tools"])) == (1, {"ot.stats"})


@pytest.mark.spec("OT-36", "OT-39")
@pytest.mark.parametrize(("good", "bad", "rate"), [(3, 1, 75.0), (4, 0, 100.0), (0, 2, 0.0), (1, 1, 50.0)])
async def test_the_success_rate_is_a_percentage(good, bad, rate):
    """Of all calls of the tool, as many as went well; in the whole and for each tool."""
    async with memory_runtime(PACKS) as ot:
        for fail in [False] * good + [True] * bad:
            assert (await ot.call("x.y", fail=fail)).ok is not fail
        shown = await stats(ot, tool="x.y")
    assert (shown["success_rate"], shown["total_calls"]) == (rate, good + bad)
    assert shown["tools"]["x.y"].items() >= {"calls": good + bad, "success_rate": rate}.items()


@pytest.mark.spec("OT-37")
async def test_context_is_saved_once_for_each_session():
    """The first code of a session was spared the definitions; a further small call saves nothing more."""
    usage, seen = MemoryUsage(), []
    for session in ("s1", "s2"):
        async with memory_runtime(PACKS, usage=usage, caller=as_session(session)) as ot:
            seen.append((await stats(ot))["context_saved"])
            for _ in range(2):
                assert (await ot.run("x.y()")).ok
                seen.append((await stats(ot))["context_saved"])
    before, first, further, kept, second, last = seen
    assert before == 0
    assert first > before
    assert further == kept == first
    assert second > kept
    assert last == second


@pytest.mark.spec("OT-37")
async def test_context_is_saved_by_each_stored_result():
    """As much as the result would have taken, less the preview that was shown instead."""
    async with memory_runtime(PACKS, caller=as_session("s1")) as ot:
        await ot.run("x.y()")
        seen = [(await stats(ot))["context_saved"]]
        for code in ("'small'", "'word ' * 40_000", "'word ' * 40_000"):
            await ot.runtime.text_of(await ot.run(code))
            seen.append((await stats(ot))["context_saved"])
    before, small, stored, again = seen
    assert small == before
    assert 10_000 < stored - small < 200_000
    assert again - stored == pytest.approx(stored - small, rel=0.01)


@pytest.mark.spec("OT-38")
async def test_time_is_saved_by_the_calls_that_code_makes():
    """Three calls in one code spare the model its turns; a single call from outside does not."""
    async with memory_runtime(PACKS) as ot:
        seen = [(await stats(ot))["time_saved_ms"]]
        for work in (lambda: ot.call("x.y"), lambda: ot.run("for n in range(3):\n    x.y()")):
            assert (await work()).ok
            seen.append((await stats(ot))["time_saved_ms"])
    before, single, three = seen
    assert before == single == 0
    assert three > 0


@pytest.mark.spec("OT-38")
def test_time_is_saved_on_the_command_line_too(home):
    """Nothing by `tools invoke`, something by `run` with three calls."""

    def shown() -> dict[str, Any]:
        return json.loads(cli("tools", "invoke", "ot.stats"))["data"]

    cli("tools", "invoke", "tools.echo", "--args", '{"message": 1}')
    single = shown()
    assert (single["tools"]["tools.echo"]["calls"], single["time_saved_ms"]) == (1, 0)
    cli("run", "[tools.echo(message=n) for n in range(3)]")
    three = shown()
    assert three["tools"]["tools.echo"]["calls"] == 4
    assert three["time_saved_ms"] > 0


@pytest.mark.spec("OT-39")
async def test_each_tool_that_was_called_has_its_own_count():
    """The parts make up the whole."""
    async with memory_runtime(PACKS) as ot:
        for name, args in [("x.y", {}), ("x.y", {}), ("tools.echo", {"message": 1})]:
            assert (await ot.call(name, **args)).ok
        shown = await stats(ot)
    assert {name: entry["calls"] for name, entry in shown["tools"].items()} == {"x.y": 2, "tools.echo": 1}
    assert shown["total_calls"] == 3


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
async def test_a_period_reaches_back_from_now(ages, expected):
    """The last 24 hours, 7 days or 30 days, or all; for one tool and in the whole."""
    async with memory_runtime(PACKS, usage=used(x__y=ages)) as ot:
        shown = [await stats(ot, period=period, tool="x.y") for period in ("day", "week", "month", "all")]
        assert [found["total_calls"] for found in shown] == expected
        assert [found["tools"]["x.y"]["calls"] for found in shown] == expected
        assert (await stats(ot, tool="x.y"))["total_calls"] == expected[-1]
        assert (await stats(ot, period="week"))["tools"]["x.y"]["calls"] == expected[1]


@pytest.mark.spec("OT-42")
async def test_statistics_of_one_tool_are_of_no_other():
    """Neither of other packs nor of tools whose names begin alike."""
    usage = used(brave__search=[1, 2], brave__search_all=[1], x__y=[1, 2, 3])
    async with memory_runtime(PACKS, usage=usage) as ot:
        shown = await stats(ot, tool="brave.search")
        whole = await stats(ot, period="all")
    assert (shown["total_calls"], set(shown["tools"])) == (2, {"brave.search"})
    assert shown["tools"]["brave.search"]["calls"] == 2
    assert whole["tools"]["x.y"]["calls"] == 3


@pytest.mark.spec("OT-43", "OT-44")
@pytest.mark.parametrize("output", ["stats.html", "sub/stats.html", "{cwd}/stats.html"])
async def test_a_report_is_written_where_it_was_asked_for(output, tmp_path):
    """A page with the names of the tools; the answer has the figures, and says where the page is."""
    (tmp_path / "sub").mkdir()
    given = output.format(cwd=tmp_path)
    async with memory_runtime(PACKS, usage=used(brave__search=[1], x__y=[1]), cwd=tmp_path) as ot:
        shown = await stats(ot, output=given)
        plain = await stats(ot)
    assert set(shown) >= FIELDS
    assert (tmp_path / shown["html_report"]).resolve() == (tmp_path / given).resolve()
    assert "html_report" not in plain
    text = (tmp_path / given).read_text(encoding="utf-8")
    assert "<html" in text
    assert "brave.search" in text
    assert "x.y" in text


@pytest.mark.spec("OT-43")
@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'&lt;b&gt;</style><b>"]
)
async def test_names_in_a_report_are_text(name, tmp_path):
    """A tool's name is shown as it is written, and is never a part of the page."""
    pages: dict[str, list[Page]] = {}
    for tool in ("x.y", name):
        usage = MemoryUsage()
        usage.add([CallEvent(tool=tool, at=time.time(), ok=True)])
        async with memory_runtime(usage=usage, cwd=tmp_path) as ot:
            for args in ({}, {"tool": tool}):
                await stats(ot, output="stats.html", **args)
                text = (tmp_path / "stats.html").read_text(encoding="utf-8")
                assert name not in text
                pages.setdefault(tool, []).append(Page(text))
    for plain, hostile in zip(pages["x.y"], pages[name], strict=True):
        assert name in hostile.words
        assert set(hostile.tags) == set(plain.tags)
        assert hostile.attributes == plain.attributes


@pytest.mark.spec("OT-43")
async def test_a_report_needs_no_network(tmp_path):
    """It refers to nothing outside of itself."""
    async with memory_runtime(usage=used(x__y=[1, DAY * 2]), cwd=tmp_path) as ot:
        await stats(ot, output="stats.html")
    text = (tmp_path / "stats.html").read_text(encoding="utf-8")
    assert "x.y" in text
    assert [found.group() for found in REACHES_OUT.finditer(text)] == []
    assert {"iframe", "object", "embed", "base"}.isdisjoint(Page(text).tags)


@pytest.mark.spec("OT-43")
async def test_a_second_report_replaces_the_first(tmp_path):
    """What was called since is in it, and nothing else is left behind."""
    async with memory_runtime(PACKS, cwd=tmp_path) as ot:
        await ot.call("tools.echo", message=1)
        await stats(ot, output="stats.html")
        first = (tmp_path / "stats.html").read_text(encoding="utf-8")
        await ot.call("x.y")
        await stats(ot, output="stats.html")
    second = (tmp_path / "stats.html").read_text(encoding="utf-8")
    assert ("tools.echo" in first, "x.y" in first) == (True, False)
    assert ("tools.echo" in second, "x.y" in second) == (True, True)
    assert [path.name for path in tmp_path.iterdir()] == ["stats.html"]


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
async def test_a_report_that_may_not_be_written_is_refused(output, tmp_path):
    """Outside of the working directory, by another ending, over a foreign file: nothing is touched."""
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
    before, given = snapshot(tmp_path), output.format(outside=tmp_path)
    async with memory_runtime(PACKS, usage=used(x__y=[1]), cwd=work) as ot:
        result = await ot.call("ot.stats", output=given)
        inside = await ot.run(f"ot.stats(output={given!r})")
    start = f"Error: Cannot write to '{given}': "
    assert result.ok is False
    for said in (result.data, inside.data):
        assert isinstance(said, str)
        assert said.startswith(start)
        assert said.removeprefix(start).strip()
    assert snapshot(tmp_path) == before


@pytest.mark.spec("OT-45")
async def test_disabled_statistics_say_so_and_count_nothing(tmp_path):
    """An error in words, no report, and no calls when they are enabled again."""
    usage = MemoryUsage()
    off = {"stats": {"enabled": False}}
    async with memory_runtime(PACKS, usage=usage, settings=off, cwd=tmp_path) as ot:
        assert (await ot.call("x.y")).ok
        for args in ({}, {"period": "day", "tool": "x.y"}, {"output": "stats.html"}):
            result = await ot.call("ot.stats", **args)
            assert result.ok is False
            assert re.match(r"Error: .*disabled", result.data)
        assert (await ot.run("ot.stats()")).data == (await ot.call("ot.stats")).data
    assert list(tmp_path.iterdir()) == []
    async with memory_runtime(PACKS, usage=usage) as ot:
        assert (await stats(ot, tool="x.y"))["total_calls"] == 0


@pytest.mark.spec("OT-45")
def test_the_settings_file_disables_statistics(home):
    """What onetool.yaml says holds for the command line."""
    home.write("onetool.yaml", "stats: {enabled: false}\n")
    done = onetool("run", "ot.stats()")
    assert re.search(r"Error: .*disabled", done.stdout + done.stderr)


@pytest.mark.spec("OT-41", "OT-47")
@pytest.mark.parametrize("period", ["invalid", "year", "", "Day", " day", "days"])
async def test_an_unknown_period_is_answered_with_the_valid_ones(period):
    """Exactly this text, from outside and in code."""
    expected = (
        f"Error: Invalid period '{period}'. Valid: day, week, month, all. Example: ot.stats(period='day')"
    )
    async with memory_runtime(PACKS) as ot:
        result = await ot.call("ot.stats", period=period)
        code = await ot.run(f"ot.stats(period={period!r})")
        assert (result.ok, result.data) == (False, expected)
        assert await ot.runtime.text_of(code) == expected


@pytest.mark.spec("OT-35", "OT-39")
def test_processes_one_after_the_other_add_to_the_same_statistics(home):
    """What one process counted, the next one finds, and its own on top of it."""
    for total in (1, 2):
        cli("run", "tools.echo(message='x')")
        assert cli("run", "ot.stats(tool='tools.echo')['total_calls']").strip() == str(total)
    assert cli("run", "ot.stats()['tools']['ot.stats']['calls']").strip() == "2"


@pytest.mark.spec("OT-35")
def test_processes_beside_each_other_lose_no_call(home):
    """Four at once, five calls each."""
    code = "[tools.echo(message=n) for n in range(5)]"
    command = [sys.executable, "-m", "onetool", "run", code]
    children = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [child.wait(60) for child in children] == [0] * 4
    assert cli("run", "ot.stats(tool='tools.echo')['total_calls']").strip() == "20"


@pytest.mark.spec("OT-43", "OT-44")
def test_a_later_process_replaces_the_report_of_an_earlier_one(home):
    """A report is known as ours by what it holds, not by who remembers it."""
    report = home.cwd / "stats.html"
    seen = []
    for tool in ("shell.pwd()", "time.now()"):
        cli("run", tool)
        shown = cli("run", "ot.stats(output='stats.html')['html_report']").strip()
        assert (home.cwd / shown).resolve() == report.resolve()
        seen.append(report.read_text(encoding="utf-8"))
    assert ["time.now" in text for text in seen] == [False, True]
