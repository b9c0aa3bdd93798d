"""Changes of single settings: no change of another process is lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from onetool.domain.errors import SettingsError
from onetool.interfaces.server_settings.setting_editor import (
    SettingChanged,
    SettingReader,
    set_setting,
    unset_setting,
)
from onetool.interfaces.server_settings.settings_file import edit_settings
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import Paths
from onetool.settings.setting_keys import find_setting, list_settings, parse_key


@pytest.fixture(name="paths")
def own_paths(tmp_path):
    return Paths(
        config=tmp_path / "config", data=tmp_path / "data", state=tmp_path / "state", cwd=tmp_path / "cwd"
    )


def read(paths, key):
    return SettingReader(load_configuration(paths, {})).get(find_setting(parse_key(key)))


def test_value_that_was_changed_elsewhere_is_not_overwritten(paths):
    """A change of another setting is no conflict."""
    seen = read(paths, "log.level")
    set_setting(paths, ("log", "file"), False)
    set_setting(paths, ("log", "level"), "info", digest=seen.digest)
    with pytest.raises(SettingChanged, match=r"log\.level was changed elsewhere"):
        set_setting(paths, ("log", "level"), "debug", digest=seen.digest)
    with pytest.raises(SettingChanged):
        unset_setting(paths, ("log", "level"), digest=seen.digest)
    assert read(paths, "log.level").value == "info"
    unset_setting(paths, ("log", "level"), digest=read(paths, "log.level").digest)
    assert (read(paths, "log.level").origin, read(paths, "log.file").value) == ("default", False)


def test_file_that_an_editor_changes_during_the_change_is_not_overwritten(paths):
    file = paths.config / "onetool.yaml"
    set_setting(paths, ("log", "level"), "info")

    def change(path, text):
        file.write_text("log: {level: error}\n")
        return text.replace("info", "debug")

    with pytest.raises(SettingsError, match="Try again"):
        edit_settings(paths, change)
    assert read(paths, "log.level").value == "error"


def test_concurrent_changes_are_all_written(paths):
    names = [f"a{number}" for number in range(12)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: set_setting(paths, ("aliases", name), "tools.echo"), names))
    assert set(read(paths, "aliases").value) == set(names)


def test_every_default_of_the_schema_can_be_set(paths):
    for info in list_settings():
        if info.default is not None and info.type != "map":
            set_setting(paths, info.path, info.default)
            assert read(paths, info.key).stored == info.default, info.key
