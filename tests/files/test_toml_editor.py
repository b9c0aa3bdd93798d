"""Removing a table from TOML leaves every other byte, or fails."""

import pytest

from onetool.files.toml_editor import remove_table

PATH = ("servers", "mine")
TABLE = '[servers.mine]\ncommand = "x"\n\n[servers.mine.env]\nA = "1"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a = 1 # one\n\n{TABLE}", "a = 1 # one\n"),
        (f"{TABLE}\n[servers.other]\nb = 2\n", "[servers.other]\nb = 2\n"),
        (f"[servers.other]\nb = 2\n\n{TABLE}\n[c]  # last\n", "[servers.other]\nb = 2\n\n[c]  # last\n"),
        (TABLE, ""),
        (f"{TABLE}\n# Other.\n# More.\n\n# Last.\n[c]\n", "# Other.\n# More.\n\n# Last.\n[c]\n"),
        (f"{TABLE}# Of the next.\n[c]\n", "# Of the next.\n[c]\n"),
        (f"{TABLE}# B = 2\n\n\n# Of the next.\n[c]\n", "# Of the next.\n[c]\n"),
        ('[servers.mine]\n\n# Env.\n[servers.mine.env]\nA = "1"\n[c]\n', "[c]\n"),
        ("a = 1\r\n\r\n[servers.'mine']\r\nb = 2\r\n", "a = 1\r\n"),
    ],
)
def test_table_and_its_subtables_are_removed(text, expected):
    assert remove_table(text, PATH) == expected


@pytest.mark.parametrize(
    "text",
    [
        "servers = {mine = {a = 1}}\n",
        "[servers]\nmine = {a = 1}\n",
        "servers.mine.a = 1\n",
        '[servers.mine]\na = """\n[other]\n"""\n',
        "[servers.other]\na = 1\n",
        "[",
    ],
)
def test_what_cannot_be_removed_is_an_error(text):
    with pytest.raises(ValueError, match=r"."):
        remove_table(text, PATH)
