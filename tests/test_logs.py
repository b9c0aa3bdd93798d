"""Logs: JSON lines, redacted, on a thread of their own."""

import json
import logging
import os
import pty
import subprocess
import sys

import pytest

from onetool.domain.redaction import Redactor
from onetool.logs import JsonLog, SharedFile, open_logs


@pytest.fixture
def log():
    return logging.getLogger("onetool.test")


def records(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_json_with_what_was_given(tmp_path, capsys, log):
    """Level, logger, message, extras and the traceback; stderr gets what is loud, the file from info on."""
    path = tmp_path / "deep" / "log.jsonl"
    with open_logs(stderr="warning", file=SharedFile(path, 10_000)):
        log.debug("silent")
        log.info("quiet %s", "x", extra={"span": "ot.health"})
        try:
            raise ValueError("why")
        except ValueError:
            log.exception("loud")
    quiet, loud = records(path)
    assert (quiet["level"], quiet["message"], quiet["span"]) == ("info", "quiet x", "ot.health")
    assert "ValueError: why" in loud["exception"]
    (shown,) = capsys.readouterr().err.splitlines()
    assert json.loads(shown) == loud
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_secret_is_written(tmp_path, capsys, log):
    """The redactor stands in front of messages, extras and tracebacks."""
    path = tmp_path / "log.jsonl"
    with open_logs(stderr="info", file=SharedFile(path, 10_000)) as logs:
        logs.redactor = Redactor(["hunter2"])
        try:
            raise ValueError("hunter2")
        except ValueError:
            log.exception("hunter2 %s", "hunter2", extra={"key": {"hunter2": "hunter2"}})
    assert "hunter2" not in path.read_text() + capsys.readouterr().err


def test_the_file_is_rotated(tmp_path, log):
    """A full file is set aside once, and the log goes on in a new one."""
    path = tmp_path / "log.jsonl"
    file = SharedFile(path, 1000)
    for number in range(5):
        file.append(f"{number} {'x' * 400}\n".encode())
    assert path.stat().st_size < 1000
    assert (tmp_path / "log.1.jsonl").exists()


def test_several_processes_write_whole_lines(tmp_path):
    """Nobody's line is torn by another's."""
    path = tmp_path / "log.jsonl"
    code = """
import json, sys
from pathlib import Path
from onetool.logs import SharedFile
file = SharedFile(Path(sys.argv[1]), 10**9)
for number in range(200):
    file.append(json.dumps({"n": number, "x": "y" * 500}).encode() + b"\\n")
"""
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    assert [child.wait(60) for child in children] == [0, 0, 0, 0]
    assert len(records(path)) == 800


def test_a_reader_that_does_not_read_stops_nobody():
    """With nobody reading stderr, logging returns at once and the process ends in order."""
    code = """
import logging
from onetool.logs import open_logs
with open_logs(stderr="info", file=None):
    for _ in range(20_000):
        logging.getLogger("onetool.test").info("x" * 100)
print("done")
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.read() == b"done\n"
    assert child.wait(30) == 0
    child.stdout.close()
    child.stderr.close()


def test_a_reader_that_does_not_read_costs_the_file_nothing(tmp_path):
    """What cannot be shown is still written down."""
    code = """
import logging, sys
from pathlib import Path
from onetool.logs import SharedFile, open_logs
with open_logs(stderr="info", file=SharedFile(Path(sys.argv[1]), 10**9)):
    logging.getLogger("onetool.test").info("x" * 200_000)
"""
    path = tmp_path / "log.jsonl"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE) as child:
        assert child.wait(30) == 0
    assert len(records(path)) == 1


def test_a_person_reads_a_sentence(tmp_path):
    """At a terminal there is no JSON and nothing that moves the cursor; the file keeps the whole record."""
    code = """
import logging, sys
from pathlib import Path
from onetool.logs import SharedFile, open_logs
with open_logs(stderr="warning", file=SharedFile(Path(sys.argv[1]), 10**9)):
    logging.getLogger("onetool.test").warning("a file\x1b[2J is left out", extra={"pack": "bad"})
"""
    mine, theirs = pty.openpty()
    path = tmp_path / "log.jsonl"
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=theirs)
    assert child.wait(30) == 0
    os.close(theirs)
    assert os.read(mine, 1000) == "warning: a file\ufffd[2J is left out\r\n".encode()
    os.close(mine)
    assert records(path)[0]["pack"] == "bad"


def test_a_disk_that_fails_stops_nobody(tmp_path, log, capsys):
    """Lines still go to stderr when the file cannot be written."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with open_logs(stderr="info", file=SharedFile(blocked / "log.jsonl", 1000)):
        log.info("still here")
    assert "still here" in capsys.readouterr().err


def test_without_records_no_thread_is_started():
    """Commands that log nothing pay nothing."""
    handler = JsonLog(stderr_level=logging.INFO, file=None)
    handler.close()
    assert handler._writer is None
