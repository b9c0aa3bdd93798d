from onetool.testing import memory_runtime


async def test_call_of_a_shipped_tool_succeeds():
    async with memory_runtime() as ot:
        result = await ot.call("tools.echo", message="hi")
    assert result.ok
    assert result.data == "hi"
