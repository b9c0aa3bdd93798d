"""A backup of the database can be restored, and opens nothing that is sealed without the keys."""

import subprocess
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing
from onetool.storage.postgres.key_rotation import rotate_keys
from onetool.storage.postgres.migrate import check_migrated
from onetool.storage.postgres.sealed_columns import SEALED_COLUMNS
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from storage.sealed_values import SealedValues, value_of
from storage.stored_bundles import make_bundle, new_tool
from support.postgres import RING, add_services, empty_database, execute, new_workspace, postgres_program


def stores(database, slug, ring=RING):
    workspace = WorkspaceDatabase(database, Directory(database).find(slug).id)
    secrets = PostgresSecrets(workspace, Threads(), Sealer(workspace, ring))
    return PostgresBundles(workspace, Threads()), PostgresApiKeys(workspace, Threads()), secrets


@pytest.fixture
def restored(postgres_url, tmp_path):
    """Return a function that copies the database as it is now, and connects to the copy."""
    opened = []

    def restore(target):
        dump = tmp_path / "dump"
        subprocess.run([postgres_program("pg_dump"), "-Fc", "-f", dump, postgres_url], check=True)
        subprocess.run([postgres_program("pg_restore"), "-d", target, dump], check=True)
        opened.append(Database(target))
        return opened[-1]

    yield restore
    for database in opened:
        database.close()


async def test_restored_workspace_has_its_tools_keys_and_secrets(postgres, postgres_url, restored):
    slug = f"backup-{uuid4().hex}"
    WorkspaceAdmin(postgres_url, RING).create(slug)
    bundles, keys, secrets = stores(postgres, slug)
    bundle = make_bundle()
    tool = new_tool(bundle, "rain", description="Get the rain")
    await bundles.import_bundle(bundle, [tool])
    await secrets.put("TOKEN", "canary-93bd")
    add_services(WorkspaceDatabase(postgres, Directory(postgres).find(slug).id), "anna")
    created = await keys.create("anna", "ci", timedelta(days=1))

    with empty_database() as target:
        copy = restored(target)
        check_migrated(target)
        Directory(copy).check_keys(RING)
        bundles, keys, secrets = stores(copy, slug)
        assert [stored.name for stored in await bundles.find("weather.rain")] == ["weather.rain"]
        assert len((await bundles.tools(BundleFilter(), None, 10)).items) == 1
        assert await keys.find(created.text) == created.key
        assert secrets.read()["TOKEN"].value == "canary-93bd"
        other = replace(tool, id=str(uuid4()), slug="snow")
        assert (await bundles.add_tool(other, lambda _: None)).name == "weather.snow"

        wrong = KeyRing({"test": b"w" * KEY_BYTES})
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            Directory(copy).check_keys(wrong)
        with pytest.raises(StoreUnavailable, match="cannot be opened"):
            stores(copy, slug, wrong)[2].read()
        with psycopg.connect(target) as connection:
            connection.execute("set role onetool_app")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("truncate onetool.tools")
        copy.close()


async def test_backup_alone_opens_nothing_that_is_sealed(postgres, postgres_url, restored):
    """Also not with a data key that was rotated."""
    workspace, canary = new_workspace(postgres, postgres_url), f"canary-{uuid4().hex}"
    stored = SealedValues(workspace, RING)
    await stored.put_all(canary)
    rotate_keys(postgres_url, RING, Directory(postgres).find_id(workspace.workspace).slug)
    opened = stored.read_all()
    dump = subprocess.check_output([postgres_program("pg_dump"), postgres_url])
    for column in SEALED_COLUMNS:
        value = value_of(f"{column.table}-{canary}")
        assert [value in text for text in opened[column.table]] == [True]
        assert value.encode() not in dump
        assert value.encode().hex().encode() not in dump  # bytes are written like this
        query = f"select {column.column} from onetool.{column.table} where workspace_id = %s"
        ((sealed,),) = execute(postgres_url, query, workspace.workspace)
        assert sealed.hex().encode() in dump

    with empty_database() as target:
        copy = WorkspaceDatabase(restored(target), workspace.workspace)
        assert SealedValues(copy, RING).read_all() == opened
        for wrong in ({"test": b"w" * KEY_BYTES}, {"other": b"k" * KEY_BYTES}):
            with pytest.raises(StoreUnavailable, match=r"cannot be opened|does not have"):
                SealedValues(copy, KeyRing(wrong)).read_all()
    await stored.aclose()
