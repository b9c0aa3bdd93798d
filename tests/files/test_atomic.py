"""Files are written whole or not at all."""

import os

import pytest

from onetool.files.atomic import write_atomic, write_new
from onetool.files.stamp import stamp


def test_a_file_is_replaced_whole_and_private(tmp_path):
    """The new content, mode 0600, nothing left lying around."""
    file = tmp_path / "deep" / "f"
    write_atomic(file, b"one")
    write_atomic(file, b"two")
    assert file.read_bytes() == b"two"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["f"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    """What cannot replace the file leaves no half of itself behind."""
    folder = tmp_path / "f"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_atomic(folder, b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f"]


def test_a_file_that_exists_is_kept(tmp_path):
    """`write_new` never overwrites, not even through a link."""
    file, link = tmp_path / "f", tmp_path / "link"
    assert write_new(file, b"one")
    assert not write_new(file, b"two")
    link.symlink_to(tmp_path / "elsewhere")
    assert not write_new(link, b"three")
    assert file.read_bytes() == b"one"
    assert not (tmp_path / "elsewhere").exists()


def test_a_stamp_moves_when_a_file_does(tmp_path):
    """Written, replaced, gone: each is another stamp."""
    file = tmp_path / "f"
    seen = [stamp(str(file))]
    for content in (b"a", b"b", b"c"):
        write_atomic(file, content)
        seen.append(stamp(str(file)))
    before = stamp(str(tmp_path))
    os.utime(tmp_path, ns=(1, 1))
    assert seen[0] is None
    assert len(set(seen)) == 4
    assert stamp(str(tmp_path)) != before


def test_a_new_file_is_whole_or_not_there(tmp_path):
    """Two who begin at once, and a disk that is full: never an empty file."""
    from concurrent.futures import ThreadPoolExecutor

    file = tmp_path / "token"
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda n: write_new(file, b"%d" % n * 20), range(8)))
    assert sum(written) == 1
    assert len(file.read_bytes()) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
