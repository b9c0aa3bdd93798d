"""What somebody new types wrongly is answered with what would be right, never with a traceback."""

import json
import socket

from commands import onetool

KEY = "shop-4711-0815"


def said(*words, code=2, **more):
    """What a command says on stderr when it ends with this code."""
    done = onetool(*words, **more)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    return done.stderr


def test_arguments_in_another_shape_are_shown_with_the_right_one(home):
    """What arrived is repeated: the shell may have changed it."""
    right = "--args '{"
    unquoted = said("tools", "invoke", "tools.echo", "--args", "{message: hi}")
    assert "'{message: hi}'" in unquoted
    assert right in unquoted
    loose = said("tools", "invoke", "tools.echo", "message=hi")
    assert "'message=hi'" in loose
    assert right in loose


def test_a_port_that_is_taken_costs_no_token(home):
    """The token is shown only once: not by a server that cannot start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert said("serve", "--port", port, code=1).startswith(f"Error: cannot listen on 127.0.0.1:{port}: ")
    assert not (home.state / "token").exists()
    assert "65535" in said("serve", "--port", "99999")


def test_a_question_that_nobody_can_answer_names_the_option(home, monkeypatch):
    """A command in a script says how it goes on without one; nothing is written, no key of a server shown."""
    monkeypatch.setenv("HOME", str(home.root))
    file = home.root / ".cursor" / "mcp.json"
    file.parent.mkdir()
    entries = {
        "prices": {"command": "p", "env": {"SHOP_KEY": KEY}},
        "docs": {"url": "http://127.0.0.1/", "headers": {"X-Key": KEY}},
        "open": {"url": f"http://127.0.0.1/?token={KEY}"},
        "hidden": {"command": "h", "args": ["--api-key", KEY]},
    }
    file.write_text(json.dumps({"mcpServers": entries}))
    asked = onetool("mcp", "install", "cursor")
    assert (asked.returncode, "add --yes" in asked.stderr) == (1, True)
    assert '"onetool": {' in asked.stdout
    assert KEY not in asked.stdout
    assert "onetool" not in file.read_text()


def test_code_that_is_no_text_is_named(home):
    """The file, and the place in it."""
    (home.cwd / "latin.py").write_bytes(b"'caf\xe9'")
    assert said("run", "-f", "latin.py", code=1) == "Error: 'latin.py' is not UTF-8 text (byte 4).\n"
