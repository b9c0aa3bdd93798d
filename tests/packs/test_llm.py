"""The llm pack: model requests, and overriding by a pack of the same name."""

import pytest

from onetool.testing import ScriptedLLM, memory_runtime, text


def providers(llm):
    return {"providers": {"fake": {"base_url": llm.base_url, "model": "m"}}}


@pytest.mark.parametrize("value", ["hello", {"prices": [1, 2]}])
async def test_transform_sends_instruction_and_value_and_returns_the_response(value):
    with ScriptedLLM([text("HELLO")]) as llm:
        async with memory_runtime(settings=providers(llm)) as ot:
            result = await ot.call("llm.transform", input=value, prompt="louder", model="big")
    assert result.data == "HELLO"
    request = llm.bodies[0]
    assert request["model"] == "big"
    assert "louder" in request["messages"][-1]["content"]
    assert ("hello" if value == "hello" else '{"prices": [1, 2]}') in request["messages"][-1]["content"]
    assert "tools" not in request


async def test_missing_model_error_names_the_login_command():
    async with memory_runtime() as ot:
        result = await ot.call("llm.transform", input="x", prompt="y")
    assert "onetool auth login" in result.error.message


async def test_a_user_pack_overrides_the_starter_pack():
    """The whole pack is overridden; the tools of both packs are never mixed."""

    def summarize(input: str) -> str:
        """Summarize."""
        return "mine"

    async with memory_runtime(packs={"llm": [summarize]}) as ot:
        assert (await ot.call("llm.summarize", input="x")).data == "mine"
        assert (await ot.call("llm.transform", input="x", prompt="y")).meta.reason.value == "unknown"
        names = [tool["name"] for tool in (await ot.call("ot.tools", pattern="llm.")).data]
        assert names == ["llm.summarize"]
        assert (await ot.run("llm.summarize(input='x')")).data == "mine"
