"""Setups that others wrote: what is not expected in an archive or a directory is refused."""

import stat
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from onetool.interfaces.setup.contents import InvalidSetup, read_setup
from onetool.interfaces.setup.given import GivenSource

LINK = ZipInfo("tools/x.py")
LINK.external_attr = (stat.S_IFLNK | 0o777) << 16
LETTERS = "abcdefghij"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{LETTERS[number]}'] * 9)}]\n" for number, name in enumerate(LETTERS[1:])
)


def archive(files):
    output = BytesIO()
    with ZipFile(output, "w", ZIP_DEFLATED) as target:
        for name, content in {"setup.yaml": "format: 1\n", **files}.items():
            target.writestr(name, content)
    return GivenSource(name="x.zip", origin="x.zip", content=output.getvalue())


@pytest.mark.guards("imported-setup")
@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"../evil.py": "x"}, "cannot contain '../evil.py'"),
        ({"/etc/x": "x"}, "cannot contain '/etc/x'"),
        ({"tools/../../x.py": "x"}, "cannot contain"),
        ({"tools\\..\\x.py": "x"}, "cannot contain"),
        ({"tools/sub/x.py": "x"}, "cannot contain"),
        ({"secrets.yaml": "A: b"}, "cannot contain 'secrets.yaml'"),
        ({"tools/a.py": "x", "tools/A.py": "x"}, "differ only in case"),
        ({LINK: "/etc/passwd"}, "not a regular file"),
        ({"tools/x.py": b"\0" * 3_000_000}, "times its size"),
        ({"onetool.yaml": BOMB}, "bytes with its aliases"),
        ({"onetool.yaml": "a: " + "[" * 100}, "nested more than 50"),
        ({"onetool.yaml": "- a"}, "not a map"),
        ({"onetool.yaml": "secrets: {backend: command, command: [x, '{name}']}"}, "has 'secrets'"),
        ({"onetool.yaml": "tools_dirs: [/tmp]"}, "has 'tools_dirs'"),
        ({"onetool.yaml": "topics: [{pattern: '*', file: ~/.bashrc}]"}, "has 'topics'"),
        ({"onetool.yaml": "fs: {roots: [/]}"}, "has 'fs'"),
        ({"onetool.yaml": "servers: {x: {commnd: y}}"}, "commnd"),
        ({"prompts.yaml": "other: x"}, "other"),
        ({"setup.yaml": "format: 2"}, "has format 2"),
        ({"setup.yaml": "format: true"}, "has format True"),
        ({"setup.yaml": "format: 1\nrun: x"}, "unknown key 'run'"),
        ({"setup.yaml": "secrets: [{name: --x}]"}, "is not a name of a secret"),
        ({"setup.yaml": "secrets: [{name: A, value: b}]"}, "unknown key 'value'"),
        ({"setup.yaml": "disabled: {tools: [{}]}"}, "not a list of texts"),
    ],
)
def test_unexpected_content_is_refused(files, found):
    with pytest.raises(InvalidSetup) as refused:
        read_setup(archive(files))
    assert found in str(refused.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_occurs_twice_is_refused():
    output = BytesIO(archive({"tools/a.py": "x = 1"}).content)
    with ZipFile(output, "a") as target:
        target.writestr("tools/a.py", "x = 2")
    with pytest.raises(InvalidSetup, match="twice"):
        read_setup(GivenSource(name="", origin="", content=output.getvalue()))


@pytest.mark.parametrize("is_directory", [False, True])
def test_files_behind_links_are_not_read_from_a_directory(tmp_path, is_directory):
    outside, shared = tmp_path / "outside", tmp_path / "shared"
    outside.mkdir()
    (outside / "x.py").write_text("x = 1\n")
    shared.mkdir()
    if is_directory:
        (shared / "tools").symlink_to(outside)
    else:
        (shared / "tools").mkdir()
        (shared / "tools/x.py").symlink_to(outside / "x.py")
    with pytest.raises(InvalidSetup, match=r"'tools/x\.py' is a link"):
        read_setup(GivenSource(name="", origin="", directory=shared))


def test_other_files_of_a_directory_are_ignored(tmp_path):
    (tmp_path / "README.md").write_text("Read me.")
    (tmp_path / "secrets.yaml").write_text("A: b")
    (tmp_path / "onetool.yaml").write_text("aliases: {a: time.now}")
    setup = read_setup(GivenSource(name="", origin="", directory=tmp_path))
    assert setup.settings == {"aliases": {"a": "time.now"}}
