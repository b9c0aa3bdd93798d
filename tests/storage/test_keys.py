"""Keys that all processes of a user share."""

import subprocess
import sys
from contextlib import ExitStack

import pytest

from onetool.domain.errors import StoreUnavailable
from onetool.storage.files.keys import read_or_create_key
from support.waiting import HANG_S

READER = """
import sys
from pathlib import Path
from onetool.storage.files.keys import read_or_create_key

print("ready", flush=True)
sys.stdin.readline()
print(read_or_create_key(Path(sys.argv[1])).hex(), flush=True)
"""


def test_a_key_is_created_once(tmp_path):
    file = tmp_path / "a" / "key"
    key = read_or_create_key(file)
    assert len(key) == 32
    assert read_or_create_key(file) == file.read_bytes() == key
    assert read_or_create_key(tmp_path / "other") != key
    assert list(file.parent.iterdir()) == [file]


def test_processes_that_start_together_get_the_same_key(tmp_path):
    file, command = tmp_path / "key", [sys.executable, "-c", READER, str(tmp_path / "key")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        children = [stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(8)]
        for child in children:
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.stdin.write("\n")
            child.stdin.flush()
        keys = {child.communicate(timeout=HANG_S)[0].strip() for child in children}
    assert keys == {file.read_bytes().hex()}


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0"), (31, "31"), (33, "more than 32"), (5_000, "more than 32")]
)
def test_key_of_the_wrong_length_is_refused(tmp_path, size, shown):
    """The file stays: it may be something else."""
    file = tmp_path / "key"
    file.write_bytes(bytes(size))
    file.chmod(0o600)
    with pytest.raises(StoreUnavailable) as error:
        read_or_create_key(file)
    expected = f"{file} has {shown} bytes instead of 32. Delete the file, and OneTool creates a new key."
    assert str(error.value) == expected
    assert file.stat().st_size == size


@pytest.mark.guards("client-state")
@pytest.mark.linux
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777])
def test_key_that_others_may_access_is_refused(tmp_path, mode):
    file = tmp_path / "key"
    key = read_or_create_key(file)
    file.chmod(mode)
    with pytest.raises(StoreUnavailable) as error:
        read_or_create_key(file)
    assert str(error.value).startswith(
        f"{file} has mode {mode:04o}: other users may know the key. Delete the file"
    )
    assert key.hex() not in str(error.value)
    assert file.read_bytes() == key
