"""What the definition of a server's tool says about its app."""

import pytest

from onetool.domain.servers.server_tool import ServerTool


@pytest.mark.spec("MCP-60")
@pytest.mark.parametrize(
    ("meta", "has_app"),
    [
        ({"ui": {"resourceUri": "ui://a"}}, True),
        ({"ui": {"visibility": ["app"]}}, False),
        ({"ui": {"resourceUri": 1}}, False),
        ({"ui": "ui://a"}, False),
        ("ui", False),
    ],
)
def test_a_tool_with_the_uri_of_an_app_has_one(meta, has_app):
    tool = ServerTool(definition={"name": "t", "inputSchema": {}, "_meta": meta})
    assert tool.has_app == has_app
