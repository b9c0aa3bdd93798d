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

    def run(self, script, *words, cwd=None, **variables):
        program = Path(sys.executable).parent / "onetool"
        variables = {"ONETOOL_KEYS": self.keys, "ONETOOL": str(program)} | variables
        command = [SCRIPTS / script, *map(str, words)]
        return subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, timeout=HANG_S, cwd=cwd
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
    (folder / "wal").mkdir()
    backups = Backups(folder)
    backups.cluster.give(folder)
    backups.cluster.give(folder / "wal")
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
    """Restore to a new, smaller server, and wait until it accepts changes."""
    cluster = PostgresCluster("max_connections=30")
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
    assert "no base backup from before 2020-01-01T00:00:00.000000Z" in done.stderr
    assert "is not empty" in backups.run("restore.sh", backups.archive, backups.archive).stderr


def test_drill_passes_with_the_keys_and_tells_what_was_restored(backups):
    done = backups.drill(ONETOOL_OWNER_DATABASE_URL=backups.cluster.url)
    assert done.returncode == 0, done.stderr
    assert "Workspaces: 3. Sealed values that were opened: 1." in done.stdout
    assert re.search(r"Last recovered change: \S+ \S+, \d+ s ago", done.stdout)
    assert "home.workspaces: 3 rows restored, 3 now" in done.stdout
    assert done.stdout.endswith("The backup is good.\n")


def test_drill_fails_if_the_last_change_is_too_old(backups):
    """A chosen time may be as old as it likes. The drill of another cluster than home checks no keys."""
    done = backups.drill(ONETOOL_DRILL_AGE_S="-1")
    assert (done.returncode, "It is older than -1 s." in done.stderr) == (1, True), done.stderr
    other = {"ONETOOL_DRILL_CLUSTER": "west", "ONETOOL_KEYS": new_key("other")}
    done = backups.drill(backups.moments[1], ONETOOL_DRILL_AGE_S="-1", **other)
    assert done.returncode == 0, done.stderr
    assert "The keys are not checked: this is a backup of cluster west." in done.stdout


def test_drill_fails_if_nothing_was_archived_since_a_base_backup(backups):
    """Its copy has the last changes, so their age does not show that the primary has stopped archiving."""
    with copied(backups) as archive:
        for path in (archive / "wal").iterdir():
            os.utime(path, (0, 0))
        done = backups.run("drill.sh", archive, ONETOOL_DRILL_DATABASE="postgres")
    assert (done.returncode, "No WAL file was archived" in done.stderr) == (1, True), done.stderr


@contextmanager
def copied(backups):
    """Copy the archive."""
    folder = Path(tempfile.mkdtemp(prefix="onetool-archive-"))
    subprocess.run(["cp", "-a", f"{backups.archive}/.", folder], check=True)
    yield folder
    shutil.rmtree(folder)


def test_backup_of_a_standby_is_restored_as_a_primary(backups):
    """Not as another standby, which would follow the primary."""
    with copied(backups) as archive, PostgresCluster(primary=backups.cluster) as standby:
        done = backups.run("base-backup.sh", archive, standby.url)
        assert done.returncode == 0, done.stderr
        done = backups.run("drill.sh", archive, ONETOOL_DRILL_DATABASE="postgres", ONETOOL_DRILL_S="60")
        assert done.returncode == 0, done.stderr


def archive(folder, name, content):
    path = folder.parent / "pg_wal_file"
    path.write_bytes(content)
    command = [SCRIPTS / "archive-wal.sh", folder.parent, path, name]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S)


def test_last_file_of_a_timeline_may_differ_once_the_next_timeline_has_it(tmp_path):
    """Standbys archive it too, and what follows the promotion in it is left over. None may wait for ever."""
    folder = tmp_path / "wal"
    folder.mkdir()
    last, first = f"00000001{'0' * 15}5", f"00000002{'0' * 15}5"
    assert archive(folder, last, b"one").returncode == 0
    assert archive(folder, last, b"one").returncode == 0
    done = archive(folder, last, b"two")
    assert (done.returncode, "exists with another content" in done.stderr) == (1, True)
    assert archive(folder, first, b"one and more").returncode == 0
    assert archive(folder, last, b"two").returncode == 0
    assert archive(folder, first, b"two and more").returncode == 1
    assert (folder / last).read_bytes() == b"one"
    (folder / f"{last}.sha256").unlink()  # of an attempt that was interrupted
    assert archive(folder, last, b"one").returncode == 0
    sums = {f"{last}.sha256", f"{first}.sha256"}
    assert {path.name for path in folder.iterdir()} == {last, first} | sums


def test_drill_fails_with_other_keys(backups):
    done = backups.drill(ONETOOL_KEYS=new_key("backup"))
    assert done.returncode == 1
    assert "cannot be opened with key 'backup'" in done.stderr
    assert "good" not in done.stdout


def test_drill_fails_with_a_damaged_or_missing_file_of_the_archive(backups):
    """Without the check, recovery ends before this file, and the later changes are lost without a word."""
    content, name = backups.segment.read_bytes(), backups.segment.name
    with copied(backups) as archive:
        segment = archive / "wal" / name

        def error():
            done = backups.run("drill.sh", archive, ONETOOL_DRILL_DATABASE="postgres")
            return done.returncode, done.stderr

        segment.write_bytes(content[:100] + b"damaged" + content[107:])
        code, text = error()
        assert (code, f"{name} is damaged" in text) == (1, True), text
        segment.unlink()
        following = f"{int(name, 16) + 1:024X}"
        for present in (following, f"00000002{following[8:]}"):  # a promoted standby may lack the file too
            for path in (archive / "wal").glob("?" * 24):
                if path.name > name:
                    path.unlink()
            (archive / "wal" / present).write_bytes(content)
            code, text = error()
            assert (code, f"{name} is missing" in text) == (1, True), text


def test_drill_fails_with_a_file_or_an_archive_that_cannot_be_read(backups):
    """It must not look like the end of the archive: then all later changes were lost without a word."""
    for path in (backups.segment, backups.archive / "wal"):
        mode = path.stat().st_mode
        path.chmod(0)
        done = backups.drill()
        path.chmod(mode)
        assert (done.returncode, "cannot be" in done.stderr) == (1, True), done.stderr


def test_drill_fails_if_the_running_database_cannot_be_compared(backups):
    backups.cluster.execute("create role stranger login")
    done = backups.drill(ONETOOL_OWNER_DATABASE_URL=backups.cluster.url.replace("postgres@", "stranger@"))
    assert (done.returncode, "cannot be counted" in done.stderr) == (1, True), done.stderr


def test_base_backup_deletes_what_is_not_needed_any_more(backups, tmp_path):
    """It runs in a folder that the user of the server may not enter, like the home directory of root."""
    tmp_path.chmod(0o700)
    base, wal = backups.archive / "base", backups.archive / "wal"
    newest = wal / f"{int(backups.segment.name, 16) + 9:024X}.sha256"  # the file itself is being archived
    unneeded = [base / "old.part", wal / "old.part", wal / f"00000001{'0' * 16}.sha256"]
    needed = [base / "new.part", newest, wal / "00000002.history.sha256"]
    for path in (*unneeded, *needed):
        path.write_text("")
        backups.cluster.give(path)
    for path in unneeded[:2]:
        os.utime(path, (0, 0))
    before = set(base.glob("*Z"))
    done = backups.run("base-backup.sh", backups.archive, backups.cluster.url, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (copy,) = set(base.glob("*Z")) - before
    assert str(copy) == done.stdout.strip()
    shutil.rmtree(copy)
    assert not any(path.exists() for path in unneeded)
    assert all(path.exists() for path in needed)
    for path in needed:
        path.unlink()


@pytest.mark.parametrize("keep", ["0", "-1", "all"])
def test_base_backup_keeps_at_least_one(backups, keep):
    before = sorted((backups.archive / "base").iterdir())
    done = backups.run("base-backup.sh", backups.archive, backups.cluster.url, keep)
    assert (done.returncode, "KEEP must be" in done.stderr) == (2, True)
    assert sorted((backups.archive / "base").iterdir()) == before


def test_archive_that_is_not_mounted_is_refused(backups, tmp_path):
    for script, *words in (("archive-wal.sh", backups.segment, "0" * 24), ("base-backup.sh", "")):
        assert backups.run(script, tmp_path, *words).returncode == 1
    assert list(tmp_path.iterdir()) == []
