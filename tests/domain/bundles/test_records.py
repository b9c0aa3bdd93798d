"""Reading the JSON form of stored records."""

import pytest

from onetool.domain.bundles.bundle import Bundle, ToolVersion

TOOL = {"id": "i", "bundleID": "b", "slug": "s", "version": "v", "type": "python", "argSchema": {}}


def test_null_counts_as_missing():
    tool = ToolVersion.from_json({**TOOL, "description": None, "tags": None, "limits": None})
    assert (tool.description, tool.tags, tool.limits) == ("", (), None)
    assert Bundle.from_json({"id": "i", "slug": "s", "softDeletedAt": None}).soft_deleted_at is None


@pytest.mark.parametrize(
    "wrong",
    [{"isEnabled": None}, {"isEnabled": 1}, {"slug": None}, {"slug": 1}, {"argSchema": []}, {"tags": [1]}],
)
def test_wrong_types_are_rejected(wrong):
    """A flag must not be null, because its default would enable what was disabled."""
    with pytest.raises(TypeError):
        ToolVersion.from_json(TOOL | wrong)
