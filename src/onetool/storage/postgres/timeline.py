"""Recognition of a primary whose standby was promoted: it must not be used again, not even by mistake."""

import psycopg

CURRENT = "select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int"
"""Every promotion begins a timeline with a higher number. The query fails on a standby."""


class Timeline:
    """The newest timeline of the database that this process has seen."""

    def __init__(self) -> None:
        self._newest = 0

    @property
    def newest(self) -> int:
        """Its number; 0 before the first connection."""
        return self._newest

    def check(self, connection: psycopg.Connection) -> None:
        """Check that a new connection is one to the current primary.

        Raises:
            psycopg.OperationalError: It is one to an earlier primary, or to a standby.
        """
        row = connection.execute(CURRENT).fetchone()
        self.note(row[0] if row else 0)

    def note(self, number: int) -> None:
        """Note the timeline of a new connection.

        Raises:
            psycopg.OperationalError: It is older than another one: the server was replaced by its standby.
        """
        if number < self._newest:
            raise psycopg.OperationalError(
                f"The server is on timeline {number}, but a standby was promoted to timeline {self._newest}. "
                "It must follow the new primary before it is used again."
            )
        self._newest = number
