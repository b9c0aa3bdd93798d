"""Lines that several processes append: whole, or not there."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onetool.files.append import CHUNK, append_lines
from onetool.files.lock import locked
from onetool.files.quarantine import set_aside


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
        (b"{1}\n{" + b"x" * (2 * CHUNK), b"{1}\n{2}\n"),
        (b"{" + b"x" * (2 * CHUNK), b"{2}\n"),
    ],
)
def test_a_torn_line_of_ours_goes_and_any_other_gets_its_end(tmp_path, before, after):
    """Only what was never acknowledged is cut off."""
    file = tmp_path / "new" / "lines"
    if before:
        file.parent.mkdir()
        file.write_bytes(before)
    append_lines(file, b"{2}\n", is_torn=is_torn)
    assert file.read_bytes() == after
    assert file.stat().st_mode & 0o077 == 0 or before


def test_a_full_disk_leaves_no_half_line(tmp_path):
    """What could not be written whole is taken back, and the caller hears of it."""
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
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=30)
    assert done.stdout == "OSError\n", done
    assert file.read_bytes() == b"{1}\n"


def test_many_threads_append_whole_lines(tmp_path):
    """Nobody's line stands inside another's."""
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


def test_a_lock_is_waited_for_only_so_long(tmp_path):
    """Somebody who holds a file for ever stops nobody for ever."""
    first, second = (os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT) for _ in range(2))
    try:
        with locked(first), pytest.raises(TimeoutError, match=r"0\.05 s"), locked(second, 0.05):
            pass
        with locked(second, 0.05):
            pass
    finally:
        os.close(first)
        os.close(second)


def test_what_is_damaged_is_kept(tmp_path):
    """Set aside under another name; one that is gone already is no error."""
    file = tmp_path / "store.json"
    file.write_text("damaged")
    aside = set_aside(file)
    assert (aside.read_text(), file.exists()) == ("damaged", False)
    assert not set_aside(Path(file)).exists()
