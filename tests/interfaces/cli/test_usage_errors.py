"""Usage errors suggest the correct command and never print a traceback."""

import json
import socket

from support.onetool_process import onetool

KEY = "shop-4711-0815"


def error_of(*args, code=2, **options):
    """Run a command that must fail with this exit code, and return its stderr."""
    done = onetool(*args, **options)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    return done.stderr


def test_a_port_in_use_generates_no_token(home):
    """A token is shown only once, so a server that cannot start must not generate it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = error_of("serve", "--port", port, code=1)
        assert error.startswith(f"Error: Cannot listen on 127.0.0.1:{port}: ")
        assert "Choose another --port" in error
    assert not (home.state / "token").exists()
    assert "65535" in error_of("serve", "--port", "99999")


def test_trusted_proxies_are_addresses_or_networks():
    """A proxy that is every address would let each client choose its own."""
    for value in ("*", "proxy.internal", "127.0.0.1,", "10.0.0.1/8"):
        assert "--forwarded-allow-ips 127.0.0.1,10.0.0.0/8" in error_of(
            "serve", "--forwarded-allow-ips", value
        )


def test_confirmation_without_a_terminal_suggests_the_option(home, monkeypatch):
    """Nothing is written, and the diff contains no secrets."""
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
    done = onetool("mcp", "install", "cursor")
    assert (done.returncode, "Add --yes" in done.stderr) == (1, True)
    assert '"onetool": {' in done.stdout
    assert KEY not in done.stdout
    assert "onetool" not in file.read_text()


def test_code_that_is_not_text_is_an_error(home):
    """The message names the file and the position."""
    (home.cwd / "latin.py").write_bytes(b"'caf\xe9'")
    assert error_of("run", "-f", "latin.py", code=1) == "Error: 'latin.py' is not UTF-8 text (byte 4).\n"
