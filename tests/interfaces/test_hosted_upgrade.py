"""An upgrade while a hosted OneTool is used: servers of two versions run on one database."""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import onetool
from interfaces.request_load import RequestLoad
from onetool.storage.postgres.migrate import migrations
from support.hosted_process import HostedProcess, Installation, WorkspaceView
from support.onetool_process import onetool as run_onetool
from support.postgres import ClusterUrls, new_database
from support.rest_process import new_slug
from support.waiting import HANG_S

LAST = migrations()[-1].number
ADDS = f"""-- compatible from {LAST:04}
alter table onetool.bundles add column later text not null default 'x';
alter table home.workspaces add column later int;
create table onetool.later (workspace_id uuid not null, id int, primary key (workspace_id, id));
call onetool.protect('onetool.later');
"""
REMOVES = "drop table onetool.later;\n"
ECHO = {"name": "tools.echo", "args": {"message": "x"}}


class NextVersion:
    """A copy of the package with more migrations."""

    def __init__(self, folder, installation, **files):
        source = Path(onetool.__file__).parent
        shutil.copytree(source, folder / "onetool", ignore=shutil.ignore_patterns("static"))
        for name, text in files.items():
            number = int(name.removeprefix("m"))
            (folder / "onetool/storage/postgres/migrations" / f"{number:04}_later.sql").write_text(text)
        self.variables = {"PYTHONPATH": str(folder)}
        self._installation = installation

    def migrate(self, *options):
        """Run `onetool migrate`, and return what it prints."""
        variables = {"ONETOOL_DATABASE_URL": self._installation.url, "ONETOOL_KEYS": self._installation.keys}
        command = [sys.executable, "-m", "onetool", "migrate", *options]
        ended = subprocess.run(
            command,
            env=os.environ | self.variables | variables,
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


@pytest.fixture
def installation():
    """Return a database of its own, which is migrated."""
    with new_database() as url:
        installation = Installation(ClusterUrls(url))
        yield installation
        installation.close()


def call(server):
    return server.client.post("/tools/call", json=ECHO)


def test_servers_of_two_versions_run_during_and_after_a_migration(installation, tmp_path):
    new = NextVersion(tmp_path / "new", installation, **{f"m{LAST + 1}": ADDS})
    with ExitStack() as stack:
        old_server = stack.enter_context(HostedProcess(tmp_path / "a", installation=installation))
        changed = stack.enter_context(WorkspaceView(old_server, installation.create_workspace()))
        slugs = []

        def change(server):
            slugs.append(new_slug())
            return server.put_bundle(slug=slugs[-1])

        with RequestLoad(lambda: call(old_server)) as calls, RequestLoad(lambda: change(changed)) as changes:
            changes.wait_for(3)
            assert new.migrate("--pending") == f"{LAST + 1:04}_later.sql  servers can run meanwhile\n"
            assert new.migrate() == "Applied 1.\n"
            changes.wait_for(3)
            fields = {"installation": installation, "workspace": old_server.workspace} | new.variables
            new_server = stack.enter_context(HostedProcess(tmp_path / "b", **fields))
            new_view = stack.enter_context(WorkspaceView(new_server, changed.workspace))
            with RequestLoad(lambda: call(new_server), lambda: change(new_view)) as others:
                others.wait_for(10)
                changes.wait_for(3)
        assert (set(calls.statuses), set(changes.statuses), set(others.statuses)) == (
            {200},
            {201},
            {200, 201},
        )
        for server in (changed, new_view):
            stored = server.list_all("/tools/bundles", includeDisabled="true")
            assert set(slugs) <= {bundle["slug"] for bundle in stored}
        restarted = HostedProcess(tmp_path / "c", installation=installation, workspace=old_server.workspace)
        with restarted:
            assert call(restarted).status_code == 200


def test_server_with_which_the_tables_do_not_fit_does_not_start(installation, tmp_path):
    files = {f"m{LAST + 1}": ADDS, f"m{LAST + 2}": REMOVES}
    new = NextVersion(tmp_path / "new", installation, **files)
    assert new.migrate("--pending").splitlines() == [
        f"{LAST + 1:04}_later.sql  servers can run meanwhile",
        f"{LAST + 2:04}_later.sql  stop all servers and workers first",
    ]
    new.migrate()
    variables = {"ONETOOL_DATABASE_URL": installation.url, "ONETOOL_KEYS": installation.keys}
    ended = run_onetool("serve", "--hosted", "--port", "0", env=os.environ | variables)
    assert ended.returncode != 0
    assert f"{LAST + 2:04}_later.sql, with which this version of OneTool cannot work" in ended.stderr
