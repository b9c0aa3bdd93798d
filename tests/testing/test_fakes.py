"""The test helpers for pack authors."""

import json
import subprocess
import sys

import openai
import pytest

from onetool.testing import ScriptedLLM, calls, text


def test_scripted_model_works_with_the_openai_client():
    """It calls a tool, then answers. The last turn is repeated."""
    with ScriptedLLM([calls(("time__now", {"x": 1})), text("It is late.")]) as model:
        client = openai.OpenAI(base_url=model.base_url, api_key="none", max_retries=0)
        question = [{"role": "user", "content": "what time"}]
        first = client.chat.completions.create(model="m", messages=question).choices[0]
        assert first.finish_reason == "tool_calls"
        assert first.message.tool_calls[0].function.name == "time__now"
        for _ in range(2):
            later = client.chat.completions.create(model="m", messages=question).choices[0]
            assert later.message.content == "It is late."
        client.close()
    assert model.bodies[0]["messages"] == question


@pytest.fixture
def server(tmp_path):
    file = tmp_path / "demo.py"
    file.write_text('def add(a: int, b: int = 1) -> int:\n    """Add."""\n    return a + b\n')
    child = subprocess.Popen(
        [sys.executable, "-m", "onetool.testing.mcp_server", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def request(method: str, **params):
        child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    yield request
    child.stdin.close()
    assert child.wait(20) == 0
    child.stdout.close()


def test_mcp_server_lists_and_calls_tools(server):
    assert server("initialize", protocolVersion="2024-11-05")["result"]["protocolVersion"] == "2024-11-05"
    (tool,) = server("tools/list")["result"]["tools"]
    assert (tool["name"], tool["inputSchema"]["required"]) == ("demo__add", ["a"])
    good = server("tools/call", name="demo__add", arguments={"a": 2})["result"]
    assert good == {"content": [{"type": "text", "text": "3"}], "isError": False}
    bad = server("tools/call", name="demo__add", arguments={})["result"]
    assert bad["isError"]
    assert "required property" in bad["content"][0]["text"]
    assert server("ping")["result"] == {}
    assert server("nonsense")["error"]["code"] == -32601
