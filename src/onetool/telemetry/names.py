"""Names of spans, metrics and attributes.

They follow the OpenTelemetry conventions for generative AI and MCP, which have the status "Development":
open-telemetry/semantic-conventions-genai, commit 55a32cd, based on version 1.44 of the semantic conventions.
What the conventions do not have starts with `onetool.`.
"""

SCOPE = "onetool"
"""The name of our tracer and meter."""
MCP_SDK_SCOPE = "mcp-python-sdk"
"""The tracer of the MCP SDK, which makes the spans of MCP requests."""
UNKNOWN = "(unknown)"
"""Stands for names that a client or a model made up."""
MAX_LENGTH = 200
"""Length at which names are cut off."""

EXECUTE_TOOL, INVOKE_AGENT, CHAT = "execute_tool", "invoke_agent", "chat"
"""Operations: the first word of the name of a span, and its `gen_ai.operation.name`."""
AGENT = "onetool"
"""The agent of `onetool ask` and of the chat."""

OPERATION = "gen_ai.operation.name"
TOOL = "gen_ai.tool.name"
CALL_ID = "gen_ai.tool.call.id"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
METHOD = "mcp.method.name"
PROTOCOL_VERSION = "mcp.protocol.version"
SESSION_ID = "mcp.session.id"
REQUEST_ID = "jsonrpc.request.id"
STATUS_CODE = "rpc.response.status_code"
ERROR = "error.type"
"""The reason of a failed call; "tool_error" or the code of the error in the spans of the MCP SDK."""
INTERFACE = "onetool.interface"
ARGS_SIZE = "onetool.args.size"
OUTPUT_SIZE = "onetool.output.size"

OPERATION_DURATION = "mcp.server.operation.duration"
CALL_DURATION = "onetool.call.duration"
BUCKETS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""The buckets of durations, as the conventions recommend."""
