"""Files that decide what runs: who owns them and who can write them."""

import grp
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from onetool.domain.errors import SettingsError
from onetool.files.own_files import read_own_file

pytestmark = pytest.mark.linux
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can change the owner of a file")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a file"
    path.write_bytes(b"content")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o644, 0o755])
def test_own_file_is_read(file, mode):
    file.chmod(mode)
    assert read_own_file(file) == b"content"


@pytest.mark.parametrize("mode", [0o602, 0o666, 0o777])
def test_file_that_everyone_can_write_is_refused(file, mode):
    """The message contains the command that fixes it."""
    file.chmod(mode)
    with pytest.raises(SettingsError) as caught:
        read_own_file(file)
    assert f"(mode {mode:04o})" in str(caught.value)
    assert str(caught.value).endswith(f"chmod go-w '{file}'")


@pytest.mark.guards("user-writes")
@as_root
def test_file_of_another_user_is_refused(file):
    os.chown(file, 12345, 0)
    with pytest.raises(SettingsError) as caught:
        read_own_file(file)
    assert "another user (uid 12345)" in str(caught.value)
    assert str(caught.value).endswith(f"chown 0 '{file}'")


@contextmanager
def as_user(user_id: int) -> Iterator[None]:
    """Change the real user id of this process. The effective one, which decides what it may do, stays."""
    os.setresuid(user_id, 0, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@as_root
def test_file_of_root_is_read_by_other_users(file):
    """As in a container that runs as another user than the one who built it."""
    with as_user(12345):
        assert read_own_file(file) == b"content"


ROOT, NAMELESS = 0, 54321
DAEMON, SYS = pwd.getpwnam("daemon").pw_uid, grp.getgrnam("sys").gr_gid


@as_root
@pytest.mark.parametrize(
    ("user", "group", "is_private"),
    [
        (ROOT, ROOT, True),
        (ROOT, NAMELESS, True),
        (ROOT, SYS, False),
        (DAEMON, grp.getgrnam("daemon").gr_gid, True),
        (DAEMON, SYS, False),
        (NAMELESS, SYS, False),
    ],
)
def test_file_that_a_group_can_write_is_read_if_no_other_user_is_in_the_group(file, user, group, is_private):
    """The group of root, of a volume in a container, or of the same name as the user (umask 0002)."""
    os.chown(file, user, group)
    file.chmod(0o664)
    with as_user(user):
        if is_private:
            assert read_own_file(file) == b"content"
        else:
            with pytest.raises(SettingsError, match="other users can change this file"):
                read_own_file(file)
