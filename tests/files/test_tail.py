"""Reading the end of a log file."""

from onetool.files.tail import read_tail
from onetool.interfaces.server_log import read_log


def test_tail_contains_only_whole_lines(tmp_path):
    file = tmp_path / "log"
    assert read_tail(file, 10) == b""
    file.write_bytes(b"one\ntwo\nthree\n")
    assert read_tail(file, 100) == b"one\ntwo\nthree\n"
    assert read_tail(file, 14) == b"one\ntwo\nthree\n"
    assert read_tail(file, 8) == b"three\n"
    assert read_tail(file, 3) == b""


def test_log_of_one_logger(tmp_path):
    """Includes the rotated file, newest last. Torn lines and other loggers are skipped."""
    line = '{"at": "t%d", "level": "info", "logger": "onetool.servers.a", "message": "m%d"}\n'
    (tmp_path / "log.1.jsonl").write_text(line % (1, 1))
    other = '{"logger": "onetool.servers.ab", "message": "\\"onetool.servers.a\\""}\n'
    quoting = '{"logger": "x", "message": "", "about": "onetool.servers.a"}\n["onetool.servers.a"]\n'
    torn = '{"logger": "onetool.servers.a", "mess\n'
    (tmp_path / "log.jsonl").write_text(other + quoting + torn + line % (2, 2) + line % (3, 3))
    records = read_log(tmp_path / "log.jsonl", "onetool.servers.a", 2)
    assert [record["message"] for record in records] == ["m2", "m3"]
    assert len(read_log(tmp_path / "log.jsonl", "onetool.servers.a", 9)) == 3
    assert records[0] == {"at": "t2", "level": "info", "message": "m2"}
