"""The llm pack: a model that works on values, and gives way to a pack of the same name."""

import pytest

from onetool.testing import ScriptedLLM, memory_runtime, text


def providers(llm):
    return {"providers": {"fake": {"base_url": llm.base_url, "model": "m"}}}


@pytest.mark.parametrize("given", ["hello", {"prices": [1, 2]}])
async def test_a_model_works_on_a_value(given):
    """The instruction and the value reach the model, and its answer comes back as it is."""
    with ScriptedLLM([text("HELLO")]) as llm:
        async with memory_runtime(settings=providers(llm)) as ot:
            result = await ot.call("llm.transform", input=given, prompt="louder", model="big")
    assert result.data == "HELLO"
    asked = llm.asked[0]
    assert asked["model"] == "big"
    assert "louder" in asked["messages"][-1]["content"]
    assert ("hello" if given == "hello" else '{"prices": [1, 2]}') in asked["messages"][-1]["content"]
    assert "tools" not in asked


async def test_without_a_model_it_says_how_to_get_one():
    """The error is for whoever can act on it."""
    async with memory_runtime() as ot:
        result = await ot.call("llm.transform", input="x", prompt="y")
    assert "onetool auth login" in result.error.message


async def test_a_pack_of_the_users_takes_its_place():
    """A starter pack gives way as a whole: none of its tools is mixed into somebody else's pack."""

    def summarize(input: str) -> str:
        """Summarize."""
        return "mine"

    async with memory_runtime(packs={"llm": [summarize]}) as ot:
        assert (await ot.call("llm.summarize", input="x")).data == "mine"
        assert (await ot.call("llm.transform", input="x", prompt="y")).meta.reason.value == "unknown"
        names = [tool["name"] for tool in (await ot.call("ot.tools", pattern="llm.")).data]
        assert names == ["llm.summarize"]
        assert (await ot.run("llm.summarize(input='x')")).data == "mine"
