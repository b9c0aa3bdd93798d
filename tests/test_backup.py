"""The scripts in `deploy/backup`: a restore to a moment has exactly the changes before it, and drills tell
what is wrong with a backup."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from onetool.bootstrap.hosted_admin import new_key
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import WorkspaceAdmin
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.migrate import check_migrated, migrate
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from support.postgres_cluster import IS_PRIMARY, PostgresCluster
from support.processes import wait_until
from support.waiting import HANG_S

SCRIPTS = Path(__file__).parent.parent / "deploy" / "backup"
NOW = "select clock_timestamp()::text"
SLUGS = "select string_agg(slug, ' ' order by slug) from home.workspaces"


class Backups:
    """A server with an archive, and the scripts that use it."""

    def __init__(self, folder):
        self.keys = new_key("backup")
        self.archive = folder
        command = f"archive_command={SCRIPTS / 'archive-wal.sh'} {folder} %p %f"
        self.cluster = PostgresCluster("wal_level=replica", "archive_mode=on", command)

    def run(self, script, *words, **variables):
        program = Path(sys.executable).parent / "onetool"
        variables = {"ONETOOL_KEYS": self.keys, "ONETOOL": str(program)} | variables
        command = [SCRIPTS / script, *map(str, words)]
        return subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, timeout=HANG_S
        )

    def drill(self, *words, **variables):
        return self.run("drill.sh", self.archive, *words, ONETOOL_DRILL_DATABASE="postgres", **variables)

    def write(self, slug):
        """Create a workspace, and return a moment after it."""
        created = WorkspaceAdmin(self.cluster.url, KeyRing.parse(self.keys)).create(slug)
        self.last = created.id
        return self.cluster.select(NOW)

    def put_secret(self):
        """Store a secret in the workspace that was created last."""
        database = Database(self.cluster.url)
        workspace = WorkspaceDatabase(database, self.last)
        secrets = PostgresSecrets(workspace, Threads(), Sealer(workspace, KeyRing.parse(self.keys)))
        asyncio.run(secrets.put("TOKEN", "canary"))
        database.close()

    def archive_all(self):
        """Wait until all that was written is in the archive."""
        segment = self.cluster.select("select pg_walfile_name(pg_switch_wal())")
        assert wait_until(lambda: (self.archive / "wal" / segment).exists())
        return self.archive / "wal" / segment


@pytest.fixture(scope="module")
def backups():
    """Return a server with a base backup, and moments after each of three changes that follow."""
    folder = Path(tempfile.mkdtemp(prefix="onetool-archive-"))
    backups = Backups(folder)
    backups.cluster.give(folder)
    with backups.cluster:
        migrate(backups.cluster.url)
        WorkspaceAdmin(backups.cluster.url, KeyRing.parse(backups.keys)).check_keys()
        backups.moments = [backups.write("first")]
        backups.put_secret()
        done = backups.run("base-backup.sh", folder, backups.cluster.url)
        assert done.returncode == 0, done.stderr
        backups.moments += [backups.write("second"), backups.write("third")]
        backups.segment = backups.archive_all()
        yield backups
    shutil.rmtree(folder)


@contextmanager
def restored(backups, *time):
    """Restore to a new server, and wait until it accepts changes."""
    cluster = PostgresCluster()
    cluster.give(cluster.folder)
    done = backups.run("restore.sh", backups.archive, cluster.data, *time)
    assert done.returncode == 0, done.stderr
    with ExitStack() as stack:
        stack.callback(cluster.__exit__)
        cluster.start()
        assert wait_until(lambda: cluster.select(IS_PRIMARY)), cluster.log
        yield cluster


def test_restore_has_exactly_the_changes_before_the_moment(backups):
    for moments, slugs in ((backups.moments[1:2], "first second"), ((), "first second third")):
        with restored(backups, *moments) as cluster:
            assert cluster.select(SLUGS) == slugs
            check_migrated(cluster.url)


def test_restore_to_a_moment_before_the_first_backup_is_refused(backups):
    done = backups.run("restore.sh", backups.archive, backups.archive / "new", "2020-01-01 00:00:00+00")
    assert done.returncode == 1
    assert "no base backup from before 2020-01-01T00:00:00Z" in done.stderr
    assert "is not empty" in backups.run("restore.sh", backups.archive, backups.archive).stderr


def test_drill_passes_with_the_keys_and_tells_what_was_restored(backups):
    done = backups.drill(ONETOOL_OWNER_DATABASE_URL=backups.cluster.url)
    assert done.returncode == 0, done.stderr
    assert "Workspaces: 3. Sealed values that were opened: 1." in done.stdout
    assert re.search(r"Last recovered change: \S+ \S+, \d+ s ago", done.stdout)
    assert "home.workspaces: 3 rows restored, 3 now" in done.stdout
    assert done.stdout.endswith("The backup is good.\n")


def test_drill_fails_with_other_keys(backups):
    done = backups.drill(ONETOOL_KEYS=new_key("backup"))
    assert done.returncode == 1
    assert "cannot be opened with key 'backup'" in done.stderr
    assert "good" not in done.stdout


def test_drill_fails_with_a_damaged_or_missing_file_of_the_archive(backups):
    """Without the check, recovery ends before this file, and the later changes are lost without a word."""
    content = backups.segment.read_bytes()
    backups.segment.write_bytes(content[:100] + b"damaged" + content[107:])
    done = backups.drill()
    assert (done.returncode, f"{backups.segment.name} is damaged" in done.stderr) == (1, True), done.stderr
    backups.segment.unlink()
    later = backups.archive / "wal" / f"{int(backups.segment.name, 16) + 1:024X}"
    later.write_bytes(content)
    done = backups.drill()
    later.unlink()
    backups.segment.write_bytes(content)
    assert (done.returncode, f"{backups.segment.name} is missing" in done.stderr) == (1, True), done.stderr


def test_archive_refuses_another_content_of_a_file(tmp_path):
    file = tmp_path / "file"
    for content, code in ((b"a", 0), (b"a", 0), (b"b", 1)):
        file.write_bytes(content)
        done = subprocess.run([SCRIPTS / "archive-wal.sh", tmp_path, file, "0" * 24], check=False)
        assert done.returncode == code
    assert (tmp_path / "wal" / ("0" * 24)).read_bytes() == b"a"
