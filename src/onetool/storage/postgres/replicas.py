"""The servers and workers that use a database, by their connections for announcements."""

import psycopg

APPLICATION = "onetool-replica"
"""The name of these connections."""
COUNT = "select count(*) from pg_stat_activity where application_name = %s and datname = current_database()"
"""Every role sees these columns of all connections."""


def count_replicas(connection: psycopg.Connection) -> int:
    """Return the number of processes that listen to announcements of a database."""
    ((count,),) = connection.execute(COUNT, (APPLICATION,)).fetchall()
    return int(count)
