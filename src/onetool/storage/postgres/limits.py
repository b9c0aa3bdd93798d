"""The limits of a workspace in PostgreSQL, and the check of what it stores against them."""

from typing import cast
from uuid import UUID

import orjson

from onetool.domain.identity.workspace_limits import WorkspaceLimits

from .database import Cursor


def read_limits(cursor: Cursor, workspace: UUID) -> WorkspaceLimits:
    """Return the limits of a workspace.

    Raises:
        SettingsError: A stored limit is invalid.
    """
    cursor.execute("select limits from workspace_state where workspace_id = %s", (workspace,))
    (text,) = cast(tuple[str], cursor.fetchone())
    return WorkspaceLimits.from_json(orjson.loads(text))
