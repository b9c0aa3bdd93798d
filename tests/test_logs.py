"""Logging: redacted JSON lines, written by a background thread."""

import errno
import json
import logging
import os
import pty
import subprocess
import sys
import threading

import pytest

from onetool.domain.secrets.credential_set import CredentialSet
from onetool.logs import JsonLogHandler, RotatingFile, open_logs
from support.waiting import HANG_S


@pytest.fixture(autouse=True)
def patient_close(monkeypatch):
    """Closing the log waits until every record is written."""
    monkeypatch.setattr("onetool.logs.CLOSE_TIMEOUT_S", HANG_S)


@pytest.fixture
def log():
    return logging.getLogger("onetool.test")


def read_records(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_log_lines_are_json_with_level_message_extras_and_traceback(tmp_path, capsys, log):
    """stderr receives records of its own level and above, the file records of level info and above."""
    path = tmp_path / "deep" / "log.jsonl"
    with open_logs(stderr="warning", file=RotatingFile(path, 10_000)):
        log.debug("silent")
        log.info("quiet %s", "x", extra={"span": "ot.health"})
        try:
            raise ValueError("why")
        except ValueError:
            log.exception("loud")
    quiet, loud = read_records(path)
    assert (quiet["level"], quiet["message"], quiet["span"]) == ("info", "quiet x", "ot.health")
    assert "ValueError: why" in loud["exception"]
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line) == loud
    assert path.stat().st_mode & 0o777 == 0o600


def test_secrets_are_redacted_in_messages_extras_and_tracebacks(tmp_path, capsys, log):
    path = tmp_path / "log.jsonl"
    credentials = CredentialSet()
    with open_logs(stderr="info", file=RotatingFile(path, 10_000), credentials=credentials):
        credentials.add("hunter2")
        try:
            raise ValueError("hunter2")
        except ValueError:
            log.exception("hunter2 %s", "hunter2", extra={"key": {"hunter2": "hunter2"}})
    assert "hunter2" not in path.read_text() + capsys.readouterr().err


FOREIGN = """
import asyncio, logging, sys, threading
from pathlib import Path
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.logs import RotatingFile, open_logs

def fail():
    raise ValueError("hunter2 in a thread")

async def leave_a_task():
    asyncio.get_running_loop().call_soon(fail)
    await asyncio.sleep(0)

credentials, file = CredentialSet(), RotatingFile(Path(sys.argv[1]), 10**9)
with open_logs(stderr="warning", file=file, credentials=credentials, owns_process=True):
    credentials.add("hunter2")
    for name in ("some.library", "mcp.server", "uvicorn.error", "onetool_pack_mine_0123", "onetool.test"):
        logging.getLogger(name).warning("warning hunter2")
        logging.getLogger(name).info("info hunter2")
    logging.warning("root hunter2")
    asyncio.run(leave_a_task())
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    quiet = threading.Thread(target=sys.exit)
    quiet.start()
    quiet.join()
"""


@pytest.mark.guards("record-redaction")
def test_process_of_onetool_redacts_the_records_of_every_logger(tmp_path):
    """Libraries are logged from warning on, packs and OneTool from info on. Threads that fail are logged."""
    path = tmp_path / "log.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN, str(path)], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert "hunter2" not in path.read_text() + done.stderr
    logged = [(record["logger"], record["level"]) for record in read_records(path)]
    assert sorted(logged) == sorted(
        [
            ("some.library", "warning"),
            ("mcp.server", "warning"),
            ("uvicorn.error", "warning"),
            ("onetool_pack_mine_0123", "warning"),
            ("onetool_pack_mine_0123", "info"),
            ("onetool.test", "warning"),
            ("onetool.test", "info"),
            ("root", "warning"),
            ("asyncio", "error"),
            ("onetool.logs", "error"),
        ]
    )
    assert all(json.loads(line)["level"] != "info" for line in done.stderr.splitlines())


def test_library_records_below_warning_are_written_if_stderr_shows_their_level(capsys):
    with open_logs(stderr="info", file=None, owns_process=True):
        logging.getLogger("some.library").info("wanted")
        logging.getLogger("some.library").debug("unwanted")
    assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["wanted"]


def test_embedded_onetool_leaves_the_root_logger_alone(caplog, capsys):
    """The handlers of the program receive the records of its own loggers, and none of OneTool's."""
    root, hook = logging.getLogger(), threading.excepthook
    before = root.level, list(root.handlers)
    with open_logs(stderr="info", file=None):
        assert (root.level, root.handlers, threading.excepthook) == (*before, hook)
        logging.getLogger("program").warning("of the program")
        logging.getLogger("onetool.test").warning("of OneTool")
    assert [record.getMessage() for record in caplog.records] == ["of the program"]
    assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["of OneTool"]


@pytest.mark.parametrize("name", [None, "onetool"])
def test_logger_is_as_before_when_the_log_is_closed(name):
    logger = logging.getLogger(name)
    before = logger.level, logger.propagate, list(logger.handlers), threading.excepthook
    with open_logs(stderr="debug", file=None, owns_process=name is None):
        assert logger.isEnabledFor(logging.DEBUG)
    assert (logger.level, logger.propagate, logger.handlers, threading.excepthook) == before
    assert not logger.isEnabledFor(logging.DEBUG)


def test_full_log_file_is_rotated(tmp_path, log):
    """A full file is renamed, and the log continues in a new one."""
    path = tmp_path / "log.jsonl"
    file = RotatingFile(path, 1000)
    for number in range(5):
        file.append(f"{number} {'x' * 400}\n".encode())
    assert path.stat().st_size < 1000
    assert (tmp_path / "log.1.jsonl").exists()


def test_split_write_is_completed(tmp_path, monkeypatch):
    """The system may write less than requested, for instance on a nearly full disk."""
    write, file = os.write, RotatingFile(tmp_path / "log.jsonl", 1000)
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:10]))
    file.append(b'{"message": "longer than ten bytes"}\n')
    assert read_records(tmp_path / "log.jsonl") == [{"message": "longer than ten bytes"}]


def test_line_after_an_incomplete_one_is_valid(tmp_path, monkeypatch):
    """The disk is full in the middle of a line."""
    write, sizes, file = os.write, [10, 0], RotatingFile(tmp_path / "log.jsonl", 1000)

    def write_or_fail(descriptor, content):
        size = sizes.pop(0)
        if not size:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:size])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_or_fail)
        with pytest.raises(OSError, match="No space"):
            file.append(b'{"message": "lost"}\n')
    file.append(b'{"message": "stored"}\n')
    assert (tmp_path / "log.jsonl").read_bytes() == b'{"message"\n{"message": "stored"}\n'


def test_concurrent_processes_write_whole_lines(tmp_path):
    path = tmp_path / "log.jsonl"
    code = """
import json, sys
from pathlib import Path
from onetool.logs import RotatingFile
file = RotatingFile(Path(sys.argv[1]), 10**9)
for number in range(200):
    file.append(json.dumps({"n": number, "x": "y" * 500}).encode() + b"\\n")
"""
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    assert [child.wait(HANG_S) for child in children] == [0, 0, 0, 0]
    assert len(read_records(path)) == 800


def test_unread_stderr_does_not_block_logging():
    """If stderr is not read, logging returns at once and the process exits normally."""
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
    assert child.wait(HANG_S) == 0
    child.stdout.close()
    child.stderr.close()


def test_unread_stderr_does_not_affect_the_log_file(tmp_path):
    code = """
import logging, sys
from pathlib import Path
from onetool.logs import RotatingFile, open_logs
with open_logs(stderr="info", file=RotatingFile(Path(sys.argv[1]), 10**9)):
    logging.getLogger("onetool.test").info("x" * 200_000)
"""
    path = tmp_path / "log.jsonl"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE) as child:
        assert child.wait(HANG_S) == 0
    assert len(read_records(path)) == 1


def test_terminal_shows_plain_text_without_control_characters(tmp_path):
    """The log file still receives the whole JSON record."""
    code = """
import logging, sys
from pathlib import Path
from onetool.logs import RotatingFile, open_logs
with open_logs(stderr="warning", file=RotatingFile(Path(sys.argv[1]), 10**9)):
    logging.getLogger("onetool.test").warning("skipped file\x1b[2J", extra={"pack": "bad"})
"""
    master, slave = pty.openpty()
    path = tmp_path / "log.jsonl"
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=slave)
    assert child.wait(HANG_S) == 0
    os.close(slave)
    assert os.read(master, 1000) == "warning: skipped file\ufffd[2J\r\n".encode()
    os.close(master)
    assert read_records(path)[0]["pack"] == "bad"


def test_unwritable_log_file_does_not_affect_stderr(tmp_path, log, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with open_logs(stderr="info", file=RotatingFile(blocked / "log.jsonl", 1000)):
        log.info("still here")
    assert "still here" in capsys.readouterr().err


def test_no_thread_is_started_without_records():
    """Commands that log nothing have no overhead."""
    handler = JsonLogHandler(stderr_level=logging.INFO, file=None)
    handler.close()
    assert handler._writer is None


def test_the_terminal_shows_tracebacks_only_of_records_for_developers():
    handler = JsonLogHandler(stderr_level=logging.DEBUG, file=None)
    try:
        raise KeyError("k")
    except KeyError:
        record = logging.LogRecord("onetool", logging.DEBUG, "f.py", 1, "raised", (), sys.exc_info())
    foreign = logging.makeLogRecord({"levelno": logging.DEBUG, "levelname": "DEBUG", "msg": "far"})
    foreign.exception = "Traceback of a worker\nKeyError: 'k'"
    assert "Traceback (most recent call last)" in handler.format_message(record)
    assert handler.format_message(foreign) == "debug: far\n  Traceback of a worker\n  KeyError: 'k'\n"
    record.levelno = logging.ERROR
    assert handler.format_message(record).count("\n") == 1
