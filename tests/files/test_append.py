"""Appends of whole lines, file locks, and corrupt files."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onetool.files.append import CHUNK_BYTES, append_lines
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.lock import locked


def is_torn(line: bytes) -> bool:
    return line.startswith(b"{") and not line.endswith(b"}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"{2}\n"),
        (b"{1}\n", b"{1}\n{2}\n"),
        (b"{1}\n{half", b"{1}\n{2}\n"),
        (b"{half", b"{2}\n"),
        (b"{1}\n{whole}", b"{1}\n{whole}\n{2}\n"),
        (b"by hand", b"by hand\n{2}\n"),
        (b"{1}\n{" + b"x" * (2 * CHUNK_BYTES), b"{1}\n{2}\n"),
        (b"{" + b"x" * (2 * CHUNK_BYTES), b"{2}\n"),
    ],
)
def test_torn_last_line_is_removed_and_other_lines_are_terminated(tmp_path, before, after):
    file = tmp_path / "new" / "lines"
    if before:
        file.parent.mkdir()
        file.write_bytes(before)
    append_lines(file, b"{2}\n", is_torn=is_torn)
    assert file.read_bytes() == after
    assert file.stat().st_mode & 0o077 == 0 or before


def test_full_disk_leaves_no_partial_line(tmp_path):
    file = tmp_path / "lines"
    file.write_bytes(b"{1}\n")
    code = (
        "import resource, signal, sys\nfrom pathlib import Path\n"
        "from onetool.files.append import append_lines\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    append_lines(Path(sys.argv[1]), b'{' + b'x' * 5000 + b'}\\n', is_torn=lambda line: True)\n"
        "except OSError as error:\n    print(type(error).__name__)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=30
    )
    assert process.stdout == "OSError\n", process
    assert file.read_bytes() == b"{1}\n"


def test_concurrent_appends_do_not_mix_lines(tmp_path):
    file = tmp_path / "lines"
    lines = [f"{{{n}}}".encode() * 500 + b"\n" for n in range(40)]
    writers = [
        threading.Thread(target=append_lines, args=(file, line), kwargs={"is_torn": is_torn})
        for line in lines
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(file.read_bytes().splitlines(True)) == sorted(lines)


def test_waiting_for_a_lock_times_out(tmp_path):
    first, second = (os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2))
    try:
        with locked(first), pytest.raises(TimeoutError, match=r"0\.05 s"), locked(second, 0.05):
            pass
        with locked(second, 0.05):
            pass
    finally:
        os.close(first)
        os.close(second)


def test_corrupt_file_is_renamed(tmp_path):
    """A file that is already gone is not an error."""
    file = tmp_path / "store.json"
    file.write_text("corrupt")
    moved = move_corrupt_file(file)
    assert (moved.read_text(), file.exists()) == ("corrupt", False)
    assert not move_corrupt_file(Path(file)).exists()
