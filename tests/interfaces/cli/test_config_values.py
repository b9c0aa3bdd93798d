"""`onetool config get`, `set` and `unset`."""

import json

import pytest

from support.onetool_process import onetool

COMMENTED = "# mine\nlog: {level: info}  # quiet\nactivity:\n  bodies: false  # private\n"
TOKEN = "ghp_0123456789abcdef"


def test_set_value_is_active_and_keeps_comments(home):
    file = home.write("onetool.yaml", COMMENTED)
    assert onetool("config", "set", "log.level", "debug").stdout == "Set log.level to debug.\n"
    assert onetool("config", "set", "activity.retention_days", "90").returncode == 0
    assert file.read_text() == COMMENTED.replace("info", "debug") + "  retention_days: 90\n"
    got = json.loads(onetool("config", "get", "activity.retention_days", "--json").stdout)
    assert (got["value"], got["default"], got["origin"], got["file"]) == (90, 35, "user", str(file))
    assert onetool("config", "unset", "activity.retention_days").returncode == 0
    assert file.read_text() == COMMENTED.replace("info", "debug")
    assert onetool("config", "get", "activity.retention_days").stdout == "35  (the default)\n"


def test_setting_that_needs_a_restart_says_so(home):
    assert "Restart OneTool" in onetool("config", "set", "expose", "all").stdout


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("log.levl", "info", "Did you mean log.level?"),
        ("log.level", "loud", "should be debug, info, warning, error or critical, not 'loud'"),
        ("activity.retention_days", "0", "should be at least 1, not 0"),
        ("activity.retention_days", "many", "should be an integer, not 'many'"),
        ("timeout", "5", "\n  execution.timeout_s: "),
        ("profiles.r.read_only", "true", "set profiles.r.approval.mode to deny."),
        ("profiles.r.approval", "deny", "Set one of its keys: profiles.r.approval.mode, "),
        ("profiles.r.approval.mcp", "deny", "'profiles.r.approval.mcp'. Valid: mode, allow, deny."),
        ("log.level.x", "1", "log.level is not a map"),
        ("log..level", "info", "is not a key"),
        ("__proto__.level", "info", "Unknown key '__proto__.level'"),
        ("profiles.__proto__", "{}", "should be lower-case letters"),
        ("snippets.a.description", "x", "missing key 'body'"),
        ("secrets.GITHUB_TOKEN", "x", "onetool secrets set GITHUB_TOKEN"),
        ("servers.s.env.GITHUB_TOKEN", TOKEN, "onetool secrets set NAME"),
        ("packs.mine", f"{{api_key: {TOKEN}}}", "onetool secrets set NAME"),
        ("aliases", "{a: 1, a: 2}", "duplicate key"),
    ],
)
def test_invalid_change_is_refused_and_nothing_is_written(home, key, value, message):
    file = home.write("onetool.yaml", COMMENTED + "servers:\n  s: {command: x}\n")
    before = file.read_bytes()
    done = onetool("config", "set", key, value)
    assert done.returncode == 2
    assert message in done.stderr
    assert TOKEN not in done.stderr
    assert file.read_bytes() == before


@pytest.mark.parametrize("text", ["a: b", "[x", "*.y", "|", "{}", "on", "2024-01-01", "# x", "é\N{OLD KEY}"])
def test_text_that_looks_like_yaml_stays_text(home, text):
    assert onetool("config", "set", "docs_base_url", text).returncode == 0
    assert json.loads(onetool("config", "get", "docs_base_url", "--json").stdout)["value"] == text


def test_file_does_not_grow_beyond_what_a_start_reads(home):
    file = home.write("onetool.yaml", "#" * 950_000 + "\n")
    done = onetool("config", "set", "docs_base_url", "x" * 100_000)
    assert (done.returncode, len(file.read_bytes())) == (2, 950_001)


def test_list_is_written_with_commas_or_brackets(home):
    """One that replaces another one says so."""
    assert onetool("config", "set", "allowedHosts", "a.test").stdout == 'Set allowedHosts to ["a.test"].\n'
    changed = onetool("config", "set", "allowedHosts", "*.b.test, c.test").stdout
    assert changed == 'Set allowedHosts to ["*.b.test","c.test"]. It was ["a.test"].\n'
    assert onetool("config", "get", "allowedHosts").stdout.startswith('["*.b.test","c.test"]')
    assert onetool("config", "set", "approval.deny", "[a.b, c.d]").returncode == 0
    assert onetool("config", "get", "approval.deny").stdout.startswith('["a.b","c.d"]')


def test_read_only_file_is_not_replaced(home):
    file = home.write("onetool.yaml", COMMENTED)
    file.chmod(0o400)
    done = onetool("config", "set", "log.level", "debug")
    assert (done.returncode, "read-only" in done.stderr) == (2, True)
    assert file.read_text() == COMMENTED


def test_link_to_the_settings_stays_a_link(home, tmp_path):
    target = tmp_path / "dotfiles.yaml"
    target.write_text(COMMENTED)
    (home.config / "onetool.yaml").symlink_to(target)
    assert onetool("config", "set", "log.level", "debug").returncode == 0
    assert (home.config / "onetool.yaml").is_symlink()
    assert "level: debug" in target.read_text()


def test_project_setting_is_trusted_because_the_user_set_it(home, tmp_path):
    project = tmp_path / "work"
    folder = project / ".onetool"
    folder.mkdir(parents=True)
    assert onetool("config", "set", "--project", "log.level", "error", cwd=project).returncode == 0
    assert onetool("config", "get", "log.level", cwd=project).stdout.startswith("error")
    said = onetool("config", "set", "log.level", "debug", cwd=project).stdout
    assert "the project overrides it" in said
    (folder / "onetool.yaml").write_text("approval: {allow: ['*']}\n")  # by another program
    done = onetool("config", "set", "--project", "log.level", "info", cwd=project)
    assert (done.returncode, "onetool trust" in done.stderr) == (2, True)
    assert "*" not in onetool("config", "get", "approval.allow", cwd=project).stdout
    (folder / "onetool.yaml").unlink()
    (folder / "onetool.yaml").symlink_to(home.config / "onetool.yaml")
    done = onetool("config", "set", "--project", "log.level", "info", cwd=project)
    assert (done.returncode, "a link" in done.stderr) == (2, True)
    done = onetool("config", "set", "--project", "log.level", "info", cwd=tmp_path)
    assert (done.returncode, "not in a project" in done.stderr) == (2, True)
