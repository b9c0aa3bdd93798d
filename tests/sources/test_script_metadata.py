"""The inline metadata of pack files."""

import platform

import pytest

from onetool.domain.errors import SettingsError
from onetool.sources.python_packs.library_hints import missing_library_hint
from onetool.sources.python_packs.script_metadata import ScriptMetadata, read_metadata


def block(*lines: str) -> bytes:
    return "\n".join(["# /// script", *(f"# {line}" for line in lines), "# ///", "import os", ""]).encode()


def test_libraries_and_python_are_read():
    """Also with Windows line ends, and only from a complete block."""
    content = block('dependencies = ["humanize>=4", "rich"]', 'requires-python = ">=3.9"')
    expected = ScriptMetadata(("humanize>=4", "rich"), ">=3.9")
    assert read_metadata(content) == expected
    assert read_metadata(content.replace(b"\n", b"\r\n")) == expected
    assert read_metadata(b"import os\n") is None
    assert read_metadata(b"# /// script\n# dependencies = []\n") is None


@pytest.mark.guards("project-libraries")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["dependencies = [1]"], "is not a list of texts"),
        (["dependencies = ["], "is not valid TOML"),
        (['dependencies = ["--index-url=https://evil.example"]'], "invalid dependency '--index-url"),
        (['dependencies = ["../project"]'], "invalid dependency '../project'"),
        (['dependency = ["x"]'], "unknown key 'dependency'"),
        (['requires-python = "new"'], "invalid requires-python 'new'"),
        (["requires-python = 3"], "invalid requires-python 3"),
        (['requires-python = "<3"'], f"runs with Python {platform.python_version()}"),
        (["[tool.uv]", 'index-url = "https://evil.example"'], "[tool.uv] in a pack file is not supported"),
    ],
)
def test_invalid_metadata_is_rejected_with_the_value(lines, expected):
    with pytest.raises(SettingsError) as caught:
        read_metadata(block(*lines))
    assert expected in str(caught.value)


def test_second_block_is_rejected():
    with pytest.raises(SettingsError, match="2 blocks"):
        read_metadata(block("dependencies = []") + block("dependencies = []"))


def test_many_opening_lines_are_read_in_one_pass():
    """The regular expression of the specification takes minutes for them."""
    assert read_metadata(b"# /// script\n" * 77_000) is None


def test_block_ends_at_the_last_closing_line_of_its_comments():
    """As the specification requires."""
    with pytest.raises(SettingsError, match="is not valid TOML"):
        read_metadata(b"# /// script\n# dependencies = []\n# ///\n# text\n# ///\n")
    assert read_metadata(b"# /// other\n# x\n# ///\n") is None


def test_credentials_in_the_url_of_a_library_are_not_shown():
    metadata = read_metadata(block('dependencies = ["a @ https://user:p@ss@host.example/a.whl"]'))
    assert metadata.libraries == "a @ https://***@host.example/a.whl"
    with pytest.raises(SettingsError) as caught:
        read_metadata(block('dependencies = ["a b https://user:pass@host.example/a.whl"]'))
    assert "pass" not in str(caught.value)


def test_hint_names_the_distribution_of_a_module():
    """A block to paste, or what to add to the block that is there."""
    hint = missing_library_hint("yaml.loader", has_metadata=False)
    assert hint.endswith('# /// script\n# dependencies = ["pyyaml"]\n# ///')
    assert missing_library_hint("some_thing", has_metadata=True).startswith('Add "some-thing"')
