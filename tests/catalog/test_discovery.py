"""Which tools fit a question, for whom, and at which moment."""

import pytest

from onetool.domain.caller import Caller, grant
from onetool.domain.help_text import found_text
from onetool.domain.tool import ToolSpec
from onetool.testing import memory_runtime


def read_rain(city: str) -> str:
    """Tell how much it rains in a city."""
    return city


def send_mail(to: str, text: str = "") -> str:
    """Send a letter to somebody."""
    return to


PACKS = {"weather": [read_rain], "post": [send_mail]}


async def test_the_tool_that_fits_comes_first():
    """By words of its own description, typos forgiven; as a signature with one line."""
    async with memory_runtime(PACKS) as ot:
        text = (await ot.call("ot.find", query="how much does it rian in Oslo")).data
        assert (
            text.splitlines()[0] == "weather.read_rain(city: str) -> str: Tell how much it rains in a city."
        )
        assert "No matches" in (await ot.call("ot.find", query="zzzzqqq")).data
        run = await ot.run("ot.find(query='letter to somebody', limit=1)")
        assert run.data == "post.send_mail(to: str, text: str = '') -> str: Send a letter to somebody."
        for limit in (0, 51):
            assert (await ot.call("ot.find", query="x", limit=limit)).meta.exception == "ValueError"


async def test_only_what_the_caller_may_call_is_found():
    """An allow-list holds for finding as it does for calling."""
    caller = Caller(door="ask", allowed=frozenset({"ot.find", "post.send_mail"}), approve=grant)
    async with memory_runtime(PACKS, caller=caller) as ot:
        assert "weather" not in (await ot.call("ot.find", query="rain in a city, letter", limit=20)).data


async def test_a_tool_that_is_switched_off_is_not_found():
    """The index follows every change."""
    async with memory_runtime(PACKS) as ot:
        assert "weather.read_rain" in (await ot.call("ot.find", query="rain")).data
        page = await ot.runtime.bundles.list_bundles(ot_filter(), None, 100)
        weather = next(bundle for bundle in page.items if bundle.slug == "weather")
        await ot.runtime.bundles.switch_bundle(weather.id, False)
        assert "weather.read_rain" not in (await ot.call("ot.find", query="rain")).data


def ot_filter():
    from onetool.domain.bundle import Filter

    return Filter(include_disabled=True)


@pytest.mark.parametrize(("number", "most", "shown"), [(5, 1200, 5), (50, 1200, 6), (3, 10, 1)])
def test_an_answer_stays_within_its_budget(number, most, shown):
    """As many as fit, and never none; long signatures show what is required."""
    properties = {f"parameter_with_a_long_name_{n}": {"type": "string"} for n in range(20)}
    schema = {"type": "object", "properties": properties, "required": ["parameter_with_a_long_name_3"]}
    specs = [
        ToolSpec(name=f"pack.tool{n}", description="Do it. " * 50, input_schema=schema) for n in range(number)
    ]
    lines = found_text(specs, most).splitlines()
    assert abs(len(lines) - shown) <= 1
    assert lines[0].startswith("pack.tool0(parameter_with_a_long_name_3: str, ...): Do it.")
