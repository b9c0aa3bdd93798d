"""`onetool profiles`: add, list and remove profiles."""

import json

import yaml

from support.onetool_process import on_a_terminal, onetool


def test_a_read_only_profile_is_added_and_removed(home):
    file = home.write("onetool.yaml", "# mine\n")
    added = onetool("profiles", "create", "reader", "--pack", "fs", "--pack", "tools", "--read-only")
    assert "profiles.reader.approval.mode: deny" in added.stdout
    assert "onetool mcp install CLIENT --profile reader" in added.stdout
    expected = {"packs": ["fs", "tools"], "approval": {"mode": "deny"}}
    assert yaml.safe_load(file.read_text()) == {"profiles": {"reader": expected}}
    assert file.read_text().startswith("# mine\n")
    again = onetool("profiles", "add", "reader", "--pack", "fs")
    assert (again.returncode, "Profile 'reader' exists." in again.stderr) == (1, True)
    assert onetool("profiles", "rm", "reader").stdout == "Removed profile reader.\n"
    assert json.loads(onetool("profiles", "list", "--json").stdout) == {}
    assert "Profile 'reader' not found." in onetool("profiles", "remove", "reader").stderr


def test_a_profile_without_restrictions_or_with_an_invalid_name_is_refused(home):
    assert "Pass at least one of --pack" in onetool("profiles", "add", "x").stderr
    assert "should be lower-case letters" in onetool("profiles", "add", "X Y", "--read-only").stderr


def test_the_list_shows_the_approval_that_applies(home):
    home.write("onetool.yaml", "approval: {mcp: ask}\nprofiles: {a: {}, b: {approval: {mode: deny}}}\n")
    shown = [line.split()[-2:] for line in on_a_terminal("profiles", "list").splitlines()[1:]]
    assert shown == [["ask", "(approval.mcp)"], ["all", "deny"]]
