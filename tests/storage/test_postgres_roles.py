"""The login that owns the tables needs not be a superuser: managed databases have none."""

import psycopg
import pytest

from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres.directory import WorkspaceAdmin
from onetool.storage.postgres.installation_check import check_installation
from onetool.storage.postgres.migrate import migrate
from support.postgres import RING
from support.postgres_cluster import PostgresCluster


@pytest.fixture(scope="module")
def cluster():
    with PostgresCluster() as cluster:
        cluster.execute("create role first login createrole; create role other login")
        cluster.execute("create database onetool owner first")
        yield cluster


def url_for(cluster, login):
    return psycopg.conninfo.make_conninfo(cluster.url, user=login, dbname="onetool")


def test_login_that_may_create_roles_migrates_and_checks_the_installation(cluster):
    """So does any other login that became a member of the owner."""
    url = url_for(cluster, "first")
    assert migrate(url)
    assert migrate(url) == []
    WorkspaceAdmin(url, RING).create("team")
    other = url_for(cluster, "other")
    with pytest.raises(StoreUnavailable, match="permission denied"):
        check_installation(other, RING)
    cluster.execute("grant onetool_owner to other")
    for each in (url, other):
        assert check_installation(each, RING).workspaces == 1
    with psycopg.connect(other) as connection:
        assert connection.execute("select count(*) from public.onetool_migrations").fetchone() != (0,)
