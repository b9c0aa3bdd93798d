"""Detection of secret values."""

import pytest

from onetool.domain.secrets.detection import (
    is_probably_secret,
    literal_credentials,
    mask_credentials,
    redact_server,
    replace_secret_arguments,
    secret_arguments,
)

KEY = "ghp_0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("API_KEY", KEY, True),
        ("Authorization", "Bearer x-1234", True),
        ("DB_PASSWORD", "hunter22", True),
        ("DB_PASS", "hunter22", True),
        ("GITHUB_PAT", KEY, True),
        ("PATTERN", KEY, False),
        ("JWT", "eyJh.eyJz.c2ln", True),
        ("AWS_SECRET_ACCESS_KEY", "/Xk2bQ9rT5vW8yZ1aC4dE7fG0hJ3kL6mN9pQ2sT", True),
        ("AWS_SECRET_ACCESS_KEY", "/Xk2bQ9rT5/W8yZ1aC4dE7fG0hJ3kL6m+9pQ2sT", True),
        ("KEY_FILE", "/etc/key.pem", False),
        ("KEY_FILE", "/key.pem", False),
        ("KEY_DIR", "/etc/keys", False),
        ("KEY_DIR", "~keys", False),
        ("KEY_FILE", "./key", False),
        ("KEY_FILE", ".env", False),
        ("KEY_FILE", "C:\\keys\\mine.pem", False),
        ("AUTH_URL", "https://login.example", False),
        ("TOKEN_URL", "https://user:pw@login.example", True),
        ("DATABASE_URL", "postgres://u:pw@db.example/x", True),
        ("DATABASE_URL", "postgres://u:p/w@db.example/x", True),
        ("DATABASE_URL", "postgres://db.example:5432/x", False),
        ("DATABASE_URL", "jdbc:postgresql://db.example/x?user=u&password=hunter22", True),
        ("REDIS_URL", "redis://:hunter22@cache.example:6379/0", True),
        ("HOOK", f"https://h.example/?a=1&token={KEY}", True),
        ("HOOK", "https://h.example:8080/@me?page=2", False),
        ("HOOK", "https://h.example/?key=12", False),
        ("STORE", f"AccountName=a;AccountKey={KEY}", True),
        ("OPTIONS", f'{{"apiKey": "{KEY}"}}', True),
        ("KEY_COUNT", "12", False),
        ("HOME", KEY, False),
        ("PATH", "/usr/bin:/bin", False),
    ],
)
def test_secrets_are_detected_by_name_and_value(name, value, is_secret):
    """Paths, numbers and booleans are not secret under any name; a password in a URL always is."""
    assert is_probably_secret(name, value) is is_secret


@pytest.mark.parametrize(
    ("args", "names"),
    [
        (["-y", "server", "--port", "8080", "--key-file", "/etc/key.pem"], []),
        (["--api-key", KEY], ["--api-key"]),
        ([f"--token={KEY}", "--verbose", "--password", "hunter22"], ["--token", "--password"]),
        (["--token", "--verbose"], []),
        (["run", "-e", f"GITHUB_TOKEN={KEY}", "image"], ["-e GITHUB_TOKEN"]),
        (["https://a.example/mcp", "--header", "Authorization: Bearer x"], ["--header Authorization"]),
        (["--dsn=postgres://u:pw@db.example/x"], ["--dsn"]),
        (["server", "postgres://u:pw@db.example/x"], ["number 2"]),
        ([f"https://a.example/?token={KEY}"], ["token"]),
        (["--key", "/etc/key.pem", KEY], []),
    ],
)
def test_secret_arguments_are_reported_without_their_values(args, names):
    assert list(secret_arguments(args)) == names


BASIC = "dXNlcjpodW50ZXIyMg=="  # user:hunter22


@pytest.mark.parametrize(
    ("named", "args", "url", "credentials"),
    [
        ({"Authorization": f"Bearer {KEY}"}, [], "", {f"Bearer {KEY}", KEY}),
        ({"Authorization": f"Basic {BASIC}"}, [], "", {f"Basic {BASIC}", BASIC, "hunter22"}),
        ({"Authorization": "Basic not-base64-1"}, [], "", {"Basic not-base64-1", "not-base64-1"}),
        ({"API_KEY": KEY, "HOME": KEY}, [], "", {KEY}),
        ({"API_KEY": "${NAME} and 12345678"}, [], "", set()),
        ({"AUTH_MODE": "interactive"}, [], "", set()),
        ({"PASSPHRASE": "correct horse battery"}, [], "", {"correct horse battery"}),
        ({}, ["--api-key", KEY, "--port", "8080", f"--token={KEY}1"], "", {KEY, f"{KEY}1"}),
        ({}, [], "https://u:hunter%2222@a.example/mcp", {'hunter"22'}),
        ({}, [], f"https://a.example/mcp?token={KEY}&page=2", {KEY}),
        ({}, [], "https://a.example/mcp", set()),
    ],
)
def test_credentials_that_are_written_out_in_settings_are_found(named, args, url, credentials):
    """Ordinary words are left out: redacting them would make results useless."""
    assert set(literal_credentials(named, args, url)) == credentials


@pytest.mark.parametrize(
    ("args", "replaced"),
    [
        (["--api-key", "sk-12345678", "--port", "80"], ["--api-key", "...", "--port", "80"]),
        (["--token=abcdef123", "x"], ["--token=...", "x"]),
        (["https://me:hunter22@a.test"], ["..."]),
        (["-v", "--dir", "/srv/notes"], ["-v", "--dir", "/srv/notes"]),
    ],
)
def test_secret_arguments_are_replaced_and_the_others_stay(args, replaced):
    assert replace_secret_arguments(args, "...") == replaced


def test_invalid_url_of_a_server_is_not_shown():
    assert redact_server("https://me:hunter2@[broken", None, ()) == "an invalid URL"


def test_command_in_the_place_of_a_password_stays_readable():
    text = "https://user:x|sh@example.com token=abc12345"
    assert mask_credentials(text, "...") == "https://user:x|sh@example.com token=..."
