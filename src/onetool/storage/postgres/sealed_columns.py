"""The columns with values that data keys have sealed. Rotation seals all of them again."""

from typing import NamedTuple


class SealedColumn(NamedTuple):
    """A column with sealed values. The place of a value is the name of the place and the keys of its row."""

    table: str
    column: str
    place: str
    keys: tuple[str, ...]
    """The columns that identify a row in its workspace."""


SEALED_COLUMNS = (
    SealedColumn("begun_logins", "sealed", "begun login", ("id",)),
    SealedColumn("credentials", "sealed", "token", ("kind", "owner", "name")),
    SealedColumn("jobs", "request", "job", ("id",)),
    SealedColumn("own_secrets", "sealed", "own secret", ("owner", "name")),
    SealedColumn("secrets", "sealed", "secret", ("name",)),
)
PLACES = frozenset(column.place for column in SEALED_COLUMNS)
