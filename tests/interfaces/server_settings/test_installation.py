"""Installations and updates of servers of the registry in the settings."""

import pytest
import yaml

from onetool.domain.errors import SettingsError
from onetool.domain.servers.registry_entry import parse_entry
from onetool.domain.servers.registry_packages import find_launch
from onetool.interfaces.server_settings.installation import (
    PlanChanged,
    PlannedInstallation,
    ServerPackage,
    write_installation,
)
from onetool.interfaces.server_settings.path_grants import grant_paths
from onetool.interfaces.server_settings.registry_update import updated_entry, write_update
from onetool.settings.paths import Paths
from support.registry_stub import notes_entry

KEY = "key-1234567890"


@pytest.fixture
def paths(home):
    return Paths(config=home.config, data=home.root / "data", state=home.state, cwd=home.cwd)


def planned(version="1.0.0", **secrets):
    entry = parse_entry(notes_entry(version))
    return PlannedInstallation(
        package=ServerPackage(entry=entry, launch=find_launch(entry), digests={}),
        server={"command": "npx", "args": ["-y", f"notes-server@{version}"]},
        values={},
        secrets=secrets,
    )


def servers(home):
    return yaml.safe_load((home.config / "onetool.yaml").read_text())["servers"]


@pytest.mark.guards("registry-secrets")
def test_secret_that_was_added_since_the_plan_is_not_replaced(home, paths):
    home.write("secrets.yaml", "TAKEN: other\n")
    with pytest.raises(PlanChanged, match="'TAKEN' was added"):
        write_installation(paths, "notes", planned(TAKEN=KEY))
    assert not (home.config / "onetool.yaml").exists()
    write_installation(paths, "notes", planned(NEW=KEY))
    with pytest.raises(PlanChanged, match="'NEW' was added"):
        write_update(paths, "notes", planned("1.1.0", NEW="x"))
    assert yaml.safe_load((home.config / "secrets.yaml").read_text()) == {"TAKEN": "other", "NEW": KEY}
    assert servers(home)["notes"]["args"] == ["-y", "notes-server@1.0.0"]


def test_update_writes_what_was_reviewed_or_nothing(home, paths):
    write_installation(paths, "notes", planned())
    reviewed = updated_entry(paths, "notes", planned("1.1.0"))
    before = (home.config / "onetool.yaml").read_text()
    home.write("onetool.yaml", before.replace("  notes:\n", "  notes:\n    sandbox: false\n"))
    with pytest.raises(PlanChanged, match="settings of server 'notes' were changed"):
        write_update(paths, "notes", planned("1.1.0"), reviewed)
    home.write("onetool.yaml", before)
    write_update(paths, "notes", planned("1.1.0"), reviewed)
    assert servers(home) == {"notes": reviewed}


@pytest.mark.parametrize("text", ["", "servers: {}\n", "servers: {other: {command: x}}\n"])
def test_server_that_is_not_in_the_settings_of_the_user_is_not_updated(text, home, paths):
    """It may be in the settings of a project, which belong to someone else."""
    home.write("onetool.yaml", text)
    with pytest.raises(SettingsError, match="there is no 'notes'"):
        updated_entry(paths, "notes", planned("1.1.0"))
    with pytest.raises(SettingsError, match="there is no 'notes'"):
        write_update(paths, "notes", planned("1.1.0"))


def test_only_paths_that_the_user_entered_are_granted(tmp_path):
    """A path that the publisher wrote into the arguments is not."""
    entered, foreign = tmp_path / "entered", tmp_path / "foreign"
    entered.mkdir()
    foreign.mkdir()
    settings = {"command": "npx", "args": ["-y", "notes", f"--root={entered}", str(foreign)]}
    assert grant_paths(settings, [str(entered), "text"]) == [f"may read {entered}"]
    assert settings["paths"] == [{"path": str(entered)}]
    without = {"command": "npx", "args": ["-y", "notes", str(foreign)]}
    assert grant_paths(without, []) == []
    assert "paths" not in without
    assert grant_paths({"url": "https://x.example/mcp"}) == []
