"""Secrets: a private file, and values that show nowhere."""

import os

import pytest

from onetool.domain.errors import SettingsError
from onetool.settings.secrets import Secret, Secrets, load_secrets


def test_names_and_values(home):
    """A value, a value with its hosts, a value from the environment."""
    file = home.write("secrets.yaml", "A: one\nB: {value: two, hosts: [api.example]}\nC: ${FROM_ENV}\n")
    found = load_secrets(file, {"FROM_ENV": "three"})
    assert {name: secret.value for name, secret in found.items()} == {"A": "one", "B": "two", "C": "three"}
    assert found["B"].hosts == ("api.example",)
    assert found["A"].hosts is None
    assert len(found) == 3


def test_no_file_no_secrets(home):
    """A missing or empty file holds none."""
    assert not load_secrets(home.config / "secrets.yaml", {})
    assert not load_secrets(home.write("secrets.yaml", "# none\n"), {})


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_can_read_is_refused(home, mode):
    """Mode 0600 is enforced, and the command that mends it is named."""
    file = home.write("secrets.yaml", "A: one\n", mode=mode)
    with pytest.raises(SettingsError, match=f"chmod 600 {file}"):
        load_secrets(file, {})


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(home):
    """A file that somebody else can write is not ours."""
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
def test_a_broken_file_is_refused_without_repeating_it(home, text):
    """The error names the line and the shape that would be right, never a value."""
    with pytest.raises(SettingsError) as caught:
        load_secrets(home.write("secrets.yaml", text), {})
    assert "hunter2" not in str(caught.value)


def test_an_unreadable_file_is_an_error(home):
    """A directory in its place is no absence."""
    (home.config / "secrets.yaml").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_secrets(home.config / "secrets.yaml", {})


def test_no_repr_shows_a_value():
    """Neither a secret nor all of them."""
    secret = Secret(name="A", value="hunter2")
    secrets = Secrets({"A": secret})
    assert "hunter2" not in repr(secret) + repr(secrets) + str(secrets)
    assert "A" in repr(secrets)
