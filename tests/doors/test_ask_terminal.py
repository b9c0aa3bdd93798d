"""`onetool ask` on a terminal: calls as they happen, an answer as it is written, a person who is asked."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from asking import Terminal, lines, wants

PACK = '''
from onetool.sdk import tool

pack = "probe"

@tool(changes=True)
def wipe(what: str) -> str:
    """Change something."""
    with open("wiped", "a") as trace:
        print(what, file=trace)
    return "wiped " + what
'''
LINE = r"(?m)^.*{}.*\b\d+(\.\d+)? ?m?s\s*$"
"""A call on a line of its own, with the time that it took."""


def scripted(home, *turns, options=()):
    """A person who asks the offline model."""
    script = home.write("script.yaml", json.dumps(turns))
    return Terminal("ask", "Go.", "--provider", "scripted", "--model", str(script), *options)


@contextmanager
def pausing():
    """A model that says one half of its answer, and the other half when it is told to."""
    go_on = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.say("First half, ")
            go_on.wait(20)
            self.say("second half.", "stop")
            self.wfile.write(b"data: [DONE]\n\n")

        def say(self, words, reason=None):
            choice = {"index": 0, "delta": {"role": "assistant", "content": words}, "finish_reason": reason}
            event = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
            self.wfile.write(f"data: {json.dumps({**event, 'choices': [choice]})}\n\n".encode())

        def log_message(self, *_):
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", go_on
        go_on.set()
        server.shutdown()


def test_calls_are_lines_and_details_come_on_request(home):
    """Each call is one line with its duration, a failure says why; -v shows what went in and came out."""
    turns = [
        wants(("tools.echo", {"message": "the echo"}), ("fs.read_file", {"path": "none"})),
        {"text": "It is done."},
    ]
    seen = {}
    for options in ((), ("-v",), ("--json",)):
        with scripted(home, *turns, options=options) as terminal:
            assert terminal.rest() == 0
            seen[options] = terminal.seen.replace("\r", "")
    short, long, as_json = seen.values()
    for shown in (short, long):
        assert [
            name for name in ("tools.echo", "fs.read_file") if not re.search(LINE.format(name), shown)
        ] == []
        assert "No such file" in shown
        assert max(map(shown.index, ("tools.echo", "fs.read_file"))) < shown.index("It is done.")
        assert '"toolCalls"' not in shown
    assert short.count("the echo") < long.count("the echo")
    assert json.loads(as_json)["answer"] == "It is done."


def test_the_answer_is_seen_while_it_is_written(home):
    """Words appear as they come, not when the model has ended."""
    with pausing() as (url, go_on):
        home.write("onetool.yaml", json.dumps({"providers": {"fake": {"base_url": url, "model": "m"}}}))
        with Terminal("ask", "Go.", "--provider", "fake") as terminal:
            terminal.until("First half,")
            assert "second half." not in terminal.seen
            go_on.set()
            assert terminal.rest() == 0
    assert terminal.seen.count("First half, second half.") == 1


def test_a_person_is_asked_before_something_changes(home):
    """What would be changed is shown; `y` lets it happen, `n` or nothing at all refuses it."""
    home.write("tools/probe.py", PACK)
    wanted = [("probe.wipe", {"what": what}) for what in ("one", "two", "three", "four")]
    with scripted(home, wants(*wanted), {"text": "It is done."}) as terminal:
        for asked, key in enumerate(("n\n", "y\n", "\n", "\x04"), start=1):
            terminal.until(rf"(?s)(?:\[y/N\].*){{{asked}}}")
            assert wanted[asked - 1][1]["what"] in terminal.seen
            terminal.type(key)
        assert terminal.rest() == 0
    assert lines(home.cwd / "wiped") == ["two"]
    assert ("It is done." in terminal.seen, "Traceback" in terminal.seen) == (True, False), terminal.seen


def test_a_person_is_asked_one_thing_at_a_time(home):
    """Calls that may run together wait for each other's question, so that a `y` means the one in sight."""
    home.write("tools/probe.py", PACK.replace("changes=True", "changes=True, parallel=True"))
    wanted = wants(("probe.wipe", {"what": "one"}), ("probe.wipe", {"what": "two"}))
    with scripted(home, wanted, {"text": "It is done."}) as terminal:
        terminal.until(r"\[y/N\]")
        terminal.wait(0.5)
        assert terminal.seen.count("[y/N]") == 1, terminal.seen
        terminal.type("y\n")
        terminal.until(r"(?s)(?:\[y/N\].*){2}")
        terminal.type("n\n")
        assert terminal.rest() == 0
    assert lines(home.cwd / "wiped") == re.findall("one|two", terminal.seen)[:1]


def test_yes_spares_the_question(home):
    """With --yes nobody is asked, on a terminal too."""
    home.write("tools/probe.py", PACK)
    turns = [wants(("probe.wipe", {"what": "all"})), {"text": "It is done."}]
    with scripted(home, *turns, options=["--yes"]) as terminal:
        assert terminal.rest() == 0
    assert (lines(home.cwd / "wiped"), "[y/N]" in terminal.seen) == (["all"], False)
