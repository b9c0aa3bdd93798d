"""How a review counts what is quarantined."""

import pytest

from onetool.domain.servers.manifest import QuarantinedTool, count_kinds
from onetool.domain.servers.prompt_texts import PromptText
from onetool.domain.servers.server_item import ServerItem
from onetool.domain.servers.server_tool import ServerTool
from onetool.domain.text.strings import join_words

TOOL = ServerTool(definition={"name": "a", "inputSchema": {}})
PROMPT = ServerItem(kind="prompt", definition={"name": "greet"})
TEXT = PromptText(prompt="greet", text="x", reason="", pin="0" * 64)


@pytest.mark.parametrize(
    ("new", "text"),
    [
        ((), ""),
        ((TOOL,), "1 tool"),
        ((TOOL, TOOL, PROMPT), "2 tools and 1 prompt"),
        ((TOOL, PROMPT, PROMPT, TEXT, TEXT), "1 tool, 2 prompts and 2 prompt texts"),
    ],
)
def test_each_kind_is_counted(new, text):
    quarantined = [QuarantinedTool(name="x", reason="", old=None, new=item) for item in new]
    assert join_words(count_kinds(quarantined)) == text
