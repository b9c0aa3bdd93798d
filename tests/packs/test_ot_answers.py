"""What OneTool answers about itself: similar names, counts and problems."""

import pytest

from onetool import onetool_runtime
from onetool.domain.errors import Reason
from onetool.sdk import get_pack
from onetool.testing import memory_runtime

SNIPPETS = {"snippets": {"tidy": {"body": "1 + 1", "description": "Tidy up."}}}
GUESSES = ("xyznonexistent", "knowledge", "timber")


def one() -> int:
    """Return a number."""
    return 1


def names() -> list[str]:
    """Return the names of the functions of a pack."""
    return dir(get_pack("demo"))


@pytest.mark.parametrize("query", GUESSES)
async def test_help_suggests_only_what_a_person_would_call_similar(query):
    """Whatever tools there are: `one` is a part of the first word, `now` of the second one."""
    async with memory_runtime({"demo": [one]}) as ot:
        for info in ("min", "list"):
            shown = (await ot.call("ot.help", query=query, info=info)).data
            assert "demo.one" not in str(shown)
            assert "time.now" not in str(shown)
        if query == "xyznonexistent":
            assert "o matches" in (await ot.call("ot.help", query=query)).data


async def test_help_on_a_snippet_needs_no_dollar_and_an_unknown_one_names_no_tools():
    async with memory_runtime({"demo": [one]}, settings=SNIPPETS) as ot:
        exact = (await ot.call("ot.help", query="$tidy")).data
        assert (await ot.call("ot.help", query="tidy")).data == exact
        assert (await ot.call("ot.help", query="$tidy", info="list")).data == ["$tidy"]
        assert (await ot.call("ot.help", query="$tidi", info="list")).data == ["tidy"]
        assert (await ot.call("ot.help", query="$nope", info="list")).data == []
        assert "o matches" in (await ot.call("ot.help", query="$nope")).data


async def test_own_tools_are_similar_to_no_other_pack():
    async with memory_runtime() as ot:
        assert "Similar tools: ot" not in (await ot.call("ot.packs", info="full")).data
        assert "Similar tools" not in (await ot.call("ot.packs", pattern="ot", info="full")).data


async def test_health_counts_the_tools_that_are_listed():
    """Without those of packs that another pack of the same name hides."""
    async with memory_runtime({"file": [one]}) as ot:
        count = (await ot.call("ot.health")).data["registry"]["tool_count"]
        assert count == len((await ot.call("ot.tools", info="list")).data)


def test_health_says_what_is_wrong_with_packs(home):
    with onetool_runtime() as ot:
        assert "problems" not in ot.call("ot.health").data["registry"]
    home.write("tools/broken.py", 'pack = "broken"\nimport nothing_with_this_name\n')
    with onetool_runtime() as ot:
        registry = ot.call("ot.health").data["registry"]
    assert registry["status"] == "error"
    assert "nothing_with_this_name" in registry["problems"]["broken"]


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("nope.tool", ""),
        ("demo.oen", "demo.one"),
        ("dmeo.one", "demo.one"),
        ("d.one", "demo.one"),
        ("ot.tool", "ot.tools"),
    ],
)
async def test_unknown_tool_suggests_tools_of_a_similar_pack(name, suggested):
    async with memory_runtime({"demo": [one]}) as ot:
        failed = await ot.call(name)
        assert failed.meta.reason is Reason.UNKNOWN
        if suggested:
            assert suggested in failed.error.message
        else:
            assert "Did you mean" not in failed.error.message


async def test_dir_of_a_pack_names_its_functions():
    async with memory_runtime({"demo": [one], "asking": [names]}) as ot:
        assert (await ot.call("asking.names")).data == ["one"]
