"""Secrets that are recognized by their own form, whatever they are called."""

from random import Random

import pytest

from onetool.domain.secrets.token_forms import known_tokens, random_strings, without_tokens

TOKENS = [
    "ghp_abcdefghijklmnopqrst",
    "github_pat_11ABCDEFG0abcdefghij",
    "glpat-abcdefghijklmnop1234",
    "sk-live-abcdef123456",
    "sk-ant-api03-abcdefghijklmnop",
    "sk_live_abcdefghij",
    "xoxb-1234567890-abcdef",
    "AKIAABCDEFGHIJKLMNOP",
    "AIza" + "abcdefghij" * 3 + "klmno",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "hf_abcdefghijklmnopqrst",
    "npm_" + "a" * 36,
    "SG.abcdefghijklmnop.abcdefghijklmnop",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
]
HARMLESS = [
    "",
    "getWeatherForecastForCity2Days",
    "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77",
    "ghcr.io/a/b@sha256:0f343b0931126a20f133d67c2b018a3b8b1ef0b1e1f0d9c5a0b1c2d3e4f5a6b7",
    "sha512-0f343b0931126a20f133d67c2b018a3b",
    "git+https://github.com/a/b@0f343b0931126a20f133d67c2b018a3b8b1ef0b1",
    "https://api.example.com/v1/users/current?page=12345678901234567890",
    "/home/me/projects/onetool2025/src/main",
    "skip-this-long-name-of-a-server",
    "task-abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
]


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_of_known_services_are_found_anywhere(token):
    for text in (token, f"fetch('https://a.test/{token}')", f"x={token}"):
        assert list(known_tokens(text))
        assert token[:12] not in without_tokens(text, "...")


@pytest.mark.parametrize("text", HARMLESS)
def test_names_hashes_and_ids_are_no_tokens(text):
    assert [*known_tokens(text), *random_strings(text)] == []
    assert without_tokens(text, "...") == text


def test_most_random_strings_are_found():
    """Those of 32 characters, as services generate them; the choice is always the same."""
    random = Random(7)
    letters = [chr(code) for code in (*range(48, 58), *range(65, 91), *range(97, 123))]
    mixed = ["".join(random.choices(letters, k=32)) for _ in range(500)]
    hexadecimal = [random.randbytes(16).hex() for _ in range(500)]
    assert sum(1 for text in mixed if list(random_strings(text))) > 470
    assert sum(1 for text in hexadecimal if list(random_strings(text))) > 400


def test_overlapping_tokens_are_replaced_once():
    token = "sk-x7Rt5Qz9mK2pL8wN4vB6"
    assert without_tokens(f"a {token} b {token}", "...") == "a ... b ..."
