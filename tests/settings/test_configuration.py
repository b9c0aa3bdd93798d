"""Settings: strict validation, merging, and errors with a location and a suggestion."""

import os
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.errors import SettingsError
from onetool.settings.configuration import Configuration, load_configuration, load_configured_tools
from onetool.settings.paths import Paths, find_paths
from onetool.settings.schema import Settings
from onetool.settings.trust import project_files, save_trust
from support.hypothesis_schemas import json_values


def load(home) -> Configuration:
    return load_configuration(find_paths(home.env, home.cwd), os.environ)


def write_project(home, text: str) -> Path:
    """Write the settings of the project, trust them, and return their file."""
    project = home.cwd / ".onetool"
    project.mkdir()
    file = project / "onetool.yaml"
    file.write_text(text)
    file.chmod(0o600)
    save_trust(home.state, project, [(file, file.read_bytes()) for file in project_files(project)])
    return file


def test_defaults_apply_without_files(home):
    """The working directory is the only root."""
    configuration = load(home)
    assert configuration.settings == Settings()
    assert configuration.settings.execution.timeout_s == 8
    assert configuration.roots == (home.cwd.resolve(),)
    assert not configuration.untrusted_files


@pytest.mark.parametrize("name", ["onetool.yaml", "prompts.yaml"])
def test_format_of_a_file_is_checked(home, name):
    """A file for a newer version is refused before its unknown keys are."""
    home.write(name, "format: 1\n")
    assert load(home).settings == Settings()
    home.write(name, "format: 2\nfuture: {}\n")
    with pytest.raises(SettingsError) as refused:
        load(home)
    assert "1: the file has format 2, which OneTool" in str(refused.value)
    assert "future" not in str(refused.value)
    for text in ("format: '1'", "format: 0", "format: true"):
        home.write(name, text)
        with pytest.raises(SettingsError, match="format: should be 1, not"):
            load(home)


BOUNDS = [
    (f"{group.name}.{field_.name}", field_.type, field_.metadata)
    for group in fields(Settings)
    if is_dataclass(group.default_factory)
    for field_ in fields(group.default_factory)
    if field_.type in (int, float)
]


@pytest.mark.parametrize(("name", "kind", "rules"), BOUNDS)
def test_bounds_of_numbers_are_exact(home, name, kind, rules):
    """A number at its bound is accepted, the next one is not."""
    group, _, key = name.partition(".")
    step = 1 if kind is int else 0.001

    def is_accepted(value):
        home.write("onetool.yaml", f"{group}: {{{key}: {value}}}")
        try:
            load(home)
        except SettingsError:
            return False
        return True

    lowest = rules["ge"] if rules["gt"] is None else rules["gt"] + step
    accepted = {lowest: True, lowest - step: False}
    if rules["le"] is not None:
        accepted |= {rules["le"]: True, rules["le"] + step: False}
    assert {value: is_accepted(value) for value in accepted} == accepted


@pytest.mark.guards("imported-yaml")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("execuion: {}", "1: unknown key 'execuion'. Did you mean execution?"),
        ("fs:\n  rots: [a]", "2: unknown key 'fs.rots'. Did you mean fs.roots?"),
        ("\n\nlog:\n  zzz: 1", "4: unknown key 'log.zzz'. Valid: level, file, max_bytes."),
        (
            "servers:\n  gh:\n    comand: x",
            "3: unknown key 'servers.gh.comand'. Did you mean servers.gh.command?",
        ),
        ("execution:\n  timeout_s: '8'", "2: execution.timeout_s: should be a number, not '8'."),
        ("execution:\n  timeout_s: 0", "2: execution.timeout_s: should be greater than 0, not 0."),
        ("fs: 5", "1: fs: should be a map, not 5."),
        ("aliases: []", "1: aliases: should be a map, not []."),
        ("tools: {}", "1: tools: should be a list, not {}."),
        ("servers: {x: {env: {A: 5}, command: y}}", "1: servers.x.env.A: should be a string."),
        ("servers: {x: {}}", "1: servers.x: set either command or url."),
        ("approval: {mcp: maybe}", "1: approval.mcp: should be allow, ask or deny, not 'maybe'."),
        ("execution: {max_concurrent: 0}", "1: execution.max_concurrent: should be at least 1, not 0."),
        ("execution: {timeout_s: 90000}", "1: execution.timeout_s: should be at most 86400, not 90000."),
        (
            "execution: {max_concurrent: true}",
            "1: execution.max_concurrent: should be an integer, not True.",
        ),
        ("execution: {timeout_s: .inf}", "1: execution.timeout_s: should be a number, not inf."),
        ("aliases: {1a: x.y}", "1: aliases.1a: the name should be a Python identifier, not '1a'."),
        ("aliases: {a: x y}", "1: aliases.a: should be a tool name such as pack.tool, not 'x y'."),
        ("aliases: {1: x}", "1: aliases.1: the name should be a string, not 1."),
        ("snippets: {a: {}}", "1: snippets.a: missing key 'body'."),
        ("log: {file: 'no'}", "1: log.file: should be true or false, not 'no'."),
        ("topics: [{pattern: a, file: 5}]", "1: topics.0.file: should be a string, not 5."),
        ("- a", "1: should be a map, not list."),
        ("a: b: c", "1: not valid YAML: mapping values are not allowed in this context."),
        ("log: {}\nlog: {}", "2: duplicate key 'log'."),
        ("1: 2", "1: unknown key '1'. Valid: tools"),
    ],
)
def test_error_names_line_key_and_suggestion(home, text, message):
    file = home.write("onetool.yaml", text)
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert str(caught.value).startswith(f"{file}:{message}")


def test_all_problems_of_a_file_are_reported_at_once(home):
    """One error with one line per problem."""
    home.write("onetool.yaml", "lgo: {}\nexecution:\n  timeout_s: no\n")
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert len(str(caught.value).splitlines()) == 2


def test_error_shortens_long_values_and_hides_private_ones(home):
    home.write("onetool.yaml", f"docs_base_url: [{'x' * 500}]")
    with pytest.raises(SettingsError, match=r"x\.\.\."):
        load(home)
    home.write("onetool.yaml", "servers: {x: {url: y, headers: {A: [hunter2]}}}")
    with pytest.raises(SettingsError) as caught:
        load(home)
    assert "hunter2" not in str(caught.value)


def test_unreadable_file_is_an_error(home):
    """It does not count as missing."""
    (home.config / "onetool.yaml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(home)


def test_file_with_only_comments_is_empty(home):
    home.write("onetool.yaml", "# nothing\n")
    assert load(home).settings == Settings()


def test_project_settings_override_user_settings(home):
    """Maps merge by key, lists replace."""
    home.write("onetool.yaml", "aliases: {a: x.a, b: x.b}\nfs: {roots: [/tmp]}\nexecution: {timeout_s: 3}\n")
    write_project(home, "aliases: {b: y.b}\nfs: {roots: [data]}\n")
    configuration = load(home)
    assert configuration.settings.aliases == {"a": "x.a", "b": "y.b"}
    assert configuration.roots == ((home.cwd / "data").resolve(),)
    assert configuration.settings.execution.timeout_s == 3


def test_project_tools_replace_user_tools(home):
    """`tools` is a list. Each definition has its location."""
    home.write("onetool.yaml", "tools: [1, 2]\n")
    assert [tool.value for tool in load(home).configured_tools] == [1, 2]
    file = write_project(home, "tools:\n  - 3\n")
    (only,) = load(home).configured_tools
    assert (only.value, only.location) == (3, f"{file}:2")
    assert load_configured_tools(find_paths(home.env, home.cwd)) == (only,)


def test_relative_paths_are_resolved_from_the_config_directory(home):
    """`~` is the home directory."""
    home.write("onetool.yaml", "fs: {roots: [here, ~/there]}\ntools_dirs: [more]\n")
    configuration = load(home)
    assert configuration.roots == ((home.config / "here").resolve(), (Path.home() / "there").resolve())
    assert [directory.path for directory in configuration.pack_dirs] == [
        home.config / "tools",
        home.config / "more",
    ]


@pytest.mark.spec("MCP-24")
def test_servers_whose_names_differ_only_in_case_are_an_error(home):
    """Prefixes of URIs have no case. The names of one file and of two files are compared."""
    first, second = "servers:\n  GitHub: {command: a}\n", "  github: {command: b}\n"
    home.write("onetool.yaml", first + second)
    message = r"3: servers.github: differs only in case from servers.GitHub\. Rename one of them\."
    with pytest.raises(SettingsError, match=message):
        load(home)
    home.write("onetool.yaml", first)
    write_project(home, "servers:\n" + second)
    with pytest.raises(SettingsError, match=r"differs only in case from servers\.GitHub"):
        load(home)
    home.write("onetool.yaml", first.replace("GitHub", "git_hub"))
    assert set(load(home).settings.servers) == {"git_hub", "github"}


@pytest.mark.parametrize("cwd", ["/", "~"])
def test_root_and_home_directory_are_no_default_roots(home, cwd):
    paths = find_paths(home.env, Path(cwd).expanduser())
    assert load_configuration(paths, {}).roots == ()


def test_environment_overrides_platform_directories(tmp_path):
    paths = find_paths({"ONETOOL_CONFIG_DIR": str(tmp_path)}, tmp_path)
    assert paths.config == tmp_path
    assert paths.data.name == "onetool"
    assert paths.log_file.parent == paths.state


@pytest.mark.parametrize(
    ("platform", "env", "config"),
    [
        ("linux", {}, "~/.config/onetool"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/onetool"),
        ("darwin", {}, "~/Library/Application Support/onetool/config"),
        ("win32", {"APPDATA": "/a", "LOCALAPPDATA": "/l"}, "/a/onetool/config"),
    ],
)
def test_default_directories_follow_the_platform(tmp_path, platform, env, config):
    assert find_paths(env, tmp_path, platform).config == Path(config).expanduser()


def test_nearest_project_is_found(tmp_path):
    """At or above the working directory. OneTool's own directories do not count."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / ".onetool").mkdir()
    env = {f"ONETOOL_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "STATE")}
    assert find_paths(env, deep).project == tmp_path / ".onetool"
    own = {**env, "ONETOOL_CONFIG_DIR": str(tmp_path / ".onetool")}
    assert find_paths(own, deep).project is None


def test_project_search_stops_at_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    inside = tmp_path / "home" / "code"
    inside.mkdir(parents=True)
    (tmp_path / ".onetool").mkdir()
    assert find_paths({}, inside).project is None


SETTINGS_TEXT = st.one_of(
    st.text(),
    st.binary().map(lambda content: content.decode("latin-1")),
    st.dictionaries(st.sampled_from([field.name for field in fields(Settings)]), json_values()).map(str),
    st.lists(
        st.sampled_from(
            [
                *(field.name for field in fields(Settings)),
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
def test_any_content_loads_or_raises_a_settings_error(tmp_path_factory, text):
    """Every line of the error starts with the file."""
    folder = tmp_path_factory.mktemp("any")
    file = folder / "onetool.yaml"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    paths = Paths(config=folder, data=folder / "d", state=folder / "s", cwd=folder)
    try:
        assert isinstance(load_configuration(paths, {}), Configuration)
    except SettingsError as error:
        unlocated = [line for line in str(error).splitlines() if not line.startswith(f"{file}:")]
        assert not unlocated


@pytest.mark.guards("user-writes")
@pytest.mark.linux
@pytest.mark.parametrize("name", ["onetool.yaml", "prompts.yaml"])
def test_file_that_other_users_can_change_is_rejected(home, name):
    """It could start programs and open hosts."""
    file = home.write(name, "", mode=0o666)
    with pytest.raises(SettingsError, match=f"{file}: other users can change this file"):
        load(home)
    file.chmod(0o644)
    load(home)
    if os.getuid() == 0:
        os.chown(file, 12345, 0)
        with pytest.raises(SettingsError, match=f"{file}: the file belongs to another user"):
            load(home)


@pytest.mark.guards("user-writes")
@pytest.mark.linux
def test_trust_record_that_other_users_can_change_is_rejected(home):
    write_project(home, "aliases: {a: b.c}\n")
    assert load(home).settings.aliases == {"a": "b.c"}
    (record,) = [path for path in (home.state / "trust").iterdir() if path.is_file()]
    record.chmod(0o666)
    with pytest.raises(SettingsError, match=f"{record}: other users can change this file"):
        load(home)


def test_programs_of_servers_run_in_the_project_that_declares_them(home):
    home.write(
        "onetool.yaml", "servers: {own: {command: a}, set: {command: b, cwd: sub}, both: {command: c}}"
    )
    declared = ["shared: {command: d}", "other: {command: e, cwd: x}", "far: {url: 'https://a.b'}"]
    text = ", ".join([*declared, "both: {command: z}"])
    write_project(home, f"servers: {{{text}}}")
    assert {name: server.cwd for name, server in load(home).settings.servers.items()} == {
        "own": None,
        "set": str(home.config / "sub"),
        "both": str(home.cwd),
        "shared": str(home.cwd),
        "other": str(home.cwd / "x"),
        "far": None,
    }


@pytest.mark.parametrize(
    ("command", "is_valid"), [("docker", True), ("/usr/bin/podman", True), ("sh", False)]
)
def test_image_needs_a_program_that_runs_containers(home, command, is_valid):
    """Any other program would run without a sandbox and be listed as a container."""
    home.write("onetool.yaml", f"servers: {{s: {{command: {command}, image: alpine}}}}")
    if is_valid:
        assert load(home).settings.servers["s"].image == "alpine"
        return
    with pytest.raises(SettingsError, match="an image needs the command docker or podman"):
        load(home)
