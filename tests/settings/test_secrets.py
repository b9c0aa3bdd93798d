"""Secrets: a private file, and values that never appear in output."""

import os

import pytest

from onetool.domain.errors import SettingsError
from onetool.domain.secrets.secret import Secret
from onetool.settings.secrets import Secrets, load_secrets


def test_secrets_are_loaded(home):
    """A value, a value with hosts, a value from the environment."""
    file = home.write("secrets.yaml", "A: one\nB: {value: two, hosts: [api.example]}\nC: ${FROM_ENV}\n")
    secrets = load_secrets(file, {"FROM_ENV": "three"})
    assert {name: secret.value for name, secret in secrets.items()} == {"A": "one", "B": "two", "C": "three"}
    assert secrets["B"].hosts == ("api.example",)
    assert secrets["A"].hosts is None
    assert len(secrets) == 3


def test_missing_or_empty_file_has_no_secrets(home):
    assert not load_secrets(home.config / "secrets.yaml", {})
    assert not load_secrets(home.write("secrets.yaml", "# none\n"), {})


@pytest.mark.guards("user-reads")
@pytest.mark.linux
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o666])
def test_file_readable_by_others_is_rejected(home, mode):
    """The message contains the command that fixes it."""
    file = home.write("secrets.yaml", "A: one\n", mode=mode)
    with pytest.raises(SettingsError, match=f"chmod 600 {file}"):
        load_secrets(file, {})


@pytest.mark.guards("user-reads")
@pytest.mark.linux
def test_file_of_another_user_is_rejected(home):
    if os.getuid() != 0:
        pytest.skip("only root can change the owner of a file")
    file = home.write("secrets.yaml", "A: one\n")
    os.chown(file, 12345, 12345)
    with pytest.raises(SettingsError, match="another user"):
        load_secrets(file, {})


@pytest.mark.parametrize(
    "text",
    [
        "hunter2hunter2",
        "- hunter2",
        "A: 5",
        "A: [hunter2]",
        "A: {value: hunter2, host: x}",
        "A: {value: hunter2, hosts: x}",
        "A: {hosts: [x]}",
        "1: hunter2",
        "A: 'hunter2",
        "A: ${NOT_SET}",
    ],
)
def test_error_for_an_invalid_file_quotes_no_value(home, text):
    with pytest.raises(SettingsError) as caught:
        load_secrets(home.write("secrets.yaml", text), {})
    assert "hunter2" not in str(caught.value)


def test_unreadable_file_is_an_error(home):
    """It does not count as missing."""
    (home.config / "secrets.yaml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_secrets(home.config / "secrets.yaml", {})


def test_repr_shows_no_value():
    secret = Secret(name="A", value="hunter2")
    secrets = Secrets({"A": secret})
    assert "hunter2" not in repr(secret) + repr(secrets) + str(secrets)
    assert "A" in repr(secrets)
