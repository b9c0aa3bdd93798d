from onetool.testing import memory_runtime


async def test_a_call_is_answered():
    """The shortest way through the house: a shipped tool in memory."""
    async with memory_runtime() as ot:
        result = await ot.call("tools.echo", message="hi")
    assert result.ok
    assert result.data == "hi"
