"""Settings: strict, merged, and errors that say where and what would be right."""

import os
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_schemas import json_values
from onetool.domain.errors import SettingsError
from onetool.settings.configuration import Configuration, load_configuration, load_definitions
from onetool.settings.places import Places, find_places
from onetool.settings.schema import Settings
from onetool.settings.trust import project_files, save_trust


def load(home) -> Configuration:
    return load_configuration(find_places(home.env, home.cwd), os.environ)


def trust(home) -> None:
    project = home.cwd / ".onetool"
    save_trust(home.state, project, [(file, file.read_bytes()) for file in project_files(project)])


def test_without_files_defaults_are_in_force(home):
    """Nothing needs to be written; the working directory is the only root."""
    found = load(home)
    assert found.settings == Settings()
    assert found.settings.execution.timeout_s == 8
    assert found.roots == (home.cwd.resolve(),)
    assert not found.held_back


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("execuion: {}", "1: unknown key 'execuion'. Did you mean execution?"),
        ("fs:\n  rots: [a]", "2: unknown key 'fs.rots'. Did you mean fs.roots?"),
        ("\n\nlog:\n  zzz: 1", "4: unknown key 'log.zzz'. Valid: level, file, max_bytes, sessions_days."),
        (
            "servers:\n  gh:\n    comand: x",
            "3: unknown key 'servers.gh.comand'. Did you mean servers.gh.command?",
        ),
        ("execution:\n  timeout_s: '8'", "2: execution.timeout_s: should be a number, not '8'."),
        ("execution:\n  timeout_s: 0", "2: execution.timeout_s: should be greater than 0, not 0."),
        ("fs: 5", "1: fs: should be a map, not 5."),
        ("aliases: []", "1: aliases: should be a map, not []."),
        ("tools: {}", "1: tools: should be a list, not {}."),
        ("servers: {x: {env: {A: 5}, command: y}}", "1: servers.x.env.A: should be text."),
        ("servers: {x: {}}", "1: servers.x: give either command or url."),
        ("approval: {mcp: maybe}", "1: approval.mcp: should be allow, ask or deny, not 'maybe'."),
        ("execution: {max_concurrent: 0}", "1: execution.max_concurrent: should be at least 1, not 0."),
        ("execution: {timeout_s: 90000}", "1: execution.timeout_s: should be at most 86400, not 90000."),
        (
            "execution: {max_concurrent: true}",
            "1: execution.max_concurrent: should be a whole number, not True.",
        ),
        ("execution: {timeout_s: .inf}", "1: execution.timeout_s: should be a number, not inf."),
        ("aliases: {1a: x.y}", "1: aliases.1a: its name should look like a Python name, not '1a'."),
        ("aliases: {a: x y}", "1: aliases.a: it should look like pack.tool, not 'x y'."),
        ("aliases: {1: x}", "1: aliases.1: its name should be text, not 1."),
        ("snippets: {a: {}}", "1: snippets.a: body is missing."),
        ("log: {file: 'no'}", "1: log.file: should be true or false, not 'no'."),
        ("topics: [{pattern: a, file: 5}]", "1: topics.0.file: should be text, not 5."),
        ("- a", "1: holds list, not a map."),
        ("a: b: c", "1: not valid YAML: mapping values are not allowed in this context."),
        ("log: {}\nlog: {}", "2: the key 'log' stands here a second time."),
        ("1: 2", "1: unknown key '1'. Valid: tools"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_nearest_key(home, text, said):
    """File, line, key path, what is wrong, what would be right."""
    file = home.write("onetool.yaml", text)
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert str(caught.value).startswith(f"{file}:{said}")


def test_every_mistake_of_a_file_is_named_at_once(home):
    """One error, one line for each problem."""
    home.write("onetool.yaml", "lgo: {}\nexecution:\n  timeout_s: no\n")
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert len(str(caught.value).splitlines()) == 2


def test_a_long_value_is_cut_and_a_private_one_is_not_shown(home):
    """A message stays readable, and repeats nothing that may be a secret."""
    home.write("onetool.yaml", f"docs_base: [{'x' * 500}]")
    with pytest.raises(SettingsError, match=r"x\.\.\."):
        load(home)
    home.write("onetool.yaml", "servers: {x: {url: y, headers: {A: [hunter2]}}}")
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert "hunter2" not in str(caught.value)


def test_an_unreadable_file_stops_the_start(home):
    """A file that is there but cannot be read is an error, not an absence."""
    (home.config / "onetool.yaml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(home)


def test_an_empty_file_is_no_settings(home):
    """A file of comments is as good as none."""
    home.write("onetool.yaml", "# nothing\n")
    assert load(home).settings == Settings()


def test_the_project_goes_over_the_user(home):
    """Maps merge by key, lists replace."""
    home.write("onetool.yaml", "aliases: {a: x.a, b: x.b}\nfs: {roots: [/tmp]}\nexecution: {timeout_s: 3}\n")
    project = home.cwd / ".onetool"
    project.mkdir()
    (project / "onetool.yaml").write_text("aliases: {b: y.b}\nfs: {roots: [data]}\n")
    trust(home)
    found = load(home)
    assert found.settings.aliases == {"a": "x.a", "b": "y.b"}
    assert found.roots == ((home.cwd / "data").resolve(),)
    assert found.settings.execution.timeout_s == 3


def test_tools_of_the_project_replace_those_of_the_user(home):
    """`tools` is a list, and each definition knows where it stands."""
    home.write("onetool.yaml", "tools: [1, 2]\n")
    assert [one.value for one in load(home).definitions] == [1, 2]
    project = home.cwd / ".onetool"
    project.mkdir()
    (project / "onetool.yaml").write_text("tools:\n  - 3\n")
    trust(home)
    (only,) = load(home).definitions
    assert (only.value, only.place) == (3, f"{project}/onetool.yaml:2")
    assert load_definitions(find_places(home.env, home.cwd)) == (only,)


def test_relative_paths_start_where_their_file_is(home):
    """A user's path starts in the config directory; ~ is the home directory."""
    home.write("onetool.yaml", "fs: {roots: [here, ~/there]}\ntools_dirs: [more]\n")
    found = load(home)
    assert found.roots == ((home.config / "here").resolve(), (Path.home() / "there").resolve())
    assert [directory.path for directory in found.pack_dirs] == [home.config / "tools", home.config / "more"]


@pytest.mark.parametrize("place", ["/", "~"])
def test_there_is_no_root_in_too_wide_a_place(home, place):
    """Standing in / or in the home directory opens nothing by itself."""
    places = find_places(home.env, Path(place).expanduser())
    assert load_configuration(places, {}).roots == ()


def test_places_come_from_the_environment_or_the_platform(tmp_path):
    """ONETOOL_*_DIR win; without them the platform's directories are used."""
    found = find_places({"ONETOOL_CONFIG_DIR": str(tmp_path)}, tmp_path)
    assert found.config == tmp_path
    assert found.data.name == "onetool"
    assert found.log_file.parent == found.state


@pytest.mark.parametrize(
    ("platform", "env", "config"),
    [
        ("linux", {}, "~/.config/onetool"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/onetool"),
        ("darwin", {}, "~/Library/Application Support/onetool/config"),
        ("win32", {"APPDATA": "/a", "LOCALAPPDATA": "/l"}, "/a/onetool/config"),
    ],
)
def test_each_platform_has_its_own_places(tmp_path, platform, env, config):
    """Where a user of that system would look."""
    assert find_places(env, tmp_path, platform).config == Path(config).expanduser()


def test_the_nearest_project_counts(tmp_path):
    """A `.onetool` directory is found from below, and OneTool's own directories are none."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / ".onetool").mkdir()
    env = {f"ONETOOL_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE")}
    assert find_places(env, deep).project == tmp_path / ".onetool"
    own = {**env, "ONETOOL_CONFIG_DIR": str(tmp_path / ".onetool")}
    assert find_places(own, deep).project is None


def test_the_search_for_a_project_ends_at_home(tmp_path, monkeypatch):
    """What lies above the home directory is not the user's project."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    inside = tmp_path / "home" / "code"
    inside.mkdir(parents=True)
    (tmp_path / ".onetool").mkdir()
    assert find_places({}, inside).project is None


SETTINGS_TEXT = st.one_of(
    st.text(),
    st.binary().map(lambda content: content.decode("latin-1")),
    st.dictionaries(st.sampled_from([one.name for one in fields(Settings)]), json_values()).map(str),
    st.lists(
        st.sampled_from(
            [
                *(one.name for one in fields(Settings)),
                ": ",
                "\n",
                "  ",
                "- ",
                "[",
                "{",
                "}",
                "&a",
                "*a",
                "'",
                "!x",
            ]
        )
    ).map("".join),
)


@given(SETTINGS_TEXT)
def test_any_file_is_settings_or_one_readable_error(tmp_path_factory, text):
    """Whatever a file holds, loading ends in Settings or in an error with file and line."""
    folder = tmp_path_factory.mktemp("any")
    file = folder / "onetool.yaml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    places = Places(config=folder, data=folder / "d", state=folder / "s", cwd=folder)
    try:
        assert isinstance(load_configuration(places, {}), Configuration)
    except SettingsError as error:
        strange = [line for line in str(error).splitlines() if not line.startswith(f"{file}:")]
        assert not strange
