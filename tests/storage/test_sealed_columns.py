"""The list of sealed columns is complete: what it lacks, a rotation of keys would lose."""

import pytest

from onetool.storage.postgres.sealed_columns import SEALED_COLUMNS
from support.postgres import execute

BINARY = """
select table_schema || '.' || table_name, column_name from information_schema.columns
where data_type = 'bytea' and table_schema not in ('information_schema', 'pg_catalog')
"""
PRIMARY_KEY = """
select attname from pg_index
join pg_attribute on attrelid = indrelid and attnum = any(indkey)
where indrelid = %s::regclass and indisprimary order by array_position(indkey::int2[], attnum)
"""
NOT_SEALED = {
    ("home.installation", "key_check"): "sealed with the key ring: `rewrap-keys`",
    ("home.browser_sessions", "hash"): "a hash",
    ("onetool.api_keys", "hash"): "a hash",
    ("onetool.data_keys", "sealed"): "sealed with the key ring: `rewrap-keys`",
    ("onetool.invitations", "hash"): "a hash",
    ("onetool.oauth_tokens", "hash"): "a hash",
    ("onetool.results", "body"): "the content of a result",
    ("onetool.client_session_entries", "body"): "what the session of a client contains",
}
"""Why no data key has sealed these columns with bytes."""


@pytest.mark.guards("tenant-sealing")
def test_every_column_with_bytes_is_sealed_or_is_known_not_to_be(postgres_url):
    found = set(execute(postgres_url, BINARY))
    sealed = {(f"onetool.{item.table}", item.column) for item in SEALED_COLUMNS}
    assert found == sealed | set(NOT_SEALED)
    assert not sealed & set(NOT_SEALED)


@pytest.mark.parametrize("column", SEALED_COLUMNS, ids=lambda column: column.table)
def test_keys_of_a_sealed_column_identify_one_row(column, postgres_url):
    rows = execute(postgres_url, PRIMARY_KEY, f"onetool.{column.table}")
    assert tuple(name for (name,) in rows) == ("workspace_id", *column.keys)


@pytest.mark.guards("tenant-sealing")
def test_places_of_sealed_columns_differ():
    assert len({column.place for column in SEALED_COLUMNS}) == len(SEALED_COLUMNS)


def test_value_that_rotation_would_lose_is_not_sealed(workspace, sealer):
    with (
        workspace.recording() as cursor,
        pytest.raises(ValueError, match="not in SEALED_COLUMNS"),
    ):
        sealer.seal(cursor, "text", "other", "name")
