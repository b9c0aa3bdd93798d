"""The result of a question."""

import pytest

from onetool.conversation.result import AskResult
from onetool.domain.calls.call import CallMeta, ToolResult
from onetool.domain.errors import Reason

META = CallMeta("demo.tool", "id", 1.0)
FAILED = ToolResult.failure(META._replace(reason=Reason.RAISED), Reason.RAISED, "It failed.")
OK = ToolResult(True, META, 1)


@pytest.mark.parametrize(("results", "is_updated"), [([], False), ([FAILED], True), ([OK, FAILED], True)])
def test_session_context_is_updated_by_results_of_failed_calls_too(results, is_updated):
    """The model reads the error."""
    result = AskResult(session="s", provider="p", model="m", prices=None)
    result.results.extend(results)
    assert result.to_json()["sessionContextUpdated"] is is_updated
