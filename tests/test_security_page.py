"""The security page: every claim has tests, and its numbers are those of the code."""

import re

from generators.security_tests import proofs
from onetool.interfaces.rest.auth.wrong_tokens import FREE_ATTEMPTS, MAX_DELAY_S
from onetool.interfaces.rest.connections import MAX_CONNECTIONS, MAX_HEADER_BYTES, default_limits
from onetool.pipeline.admission import MAX_DEPTH
from onetool.sources.mcp_servers.questions import MAX_ROUNDS
from onetool.sources.python_packs.inspector import TIMEOUT_S
from onetool.starter_packs import web
from sandbox.breakout_programs import CORPUS, HOST_BOMBS
from support.paths import PROJECT

PAGE = (PROJECT / "SECURITY.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[Tests\]\(docs/reference/security-tests\.md#([\w-]+)\)")
MAX_WORDS = 2_500
"""A person reads more than that only once."""


def test_every_claim_has_tests_and_every_mark_a_claim():
    assert set(LINK.findall(PAGE)) == set(proofs())


def test_no_claim_is_without_a_link():
    sections = PAGE.split("\n## ")[2:]
    claims = [line for section in sections for line in section.split("Not protected")[0].splitlines()]
    assert [line for line in claims if line.startswith("- ") and not LINK.search(line)] == []


def test_every_boundary_says_what_is_not_protected():
    missing = [text.splitlines()[0] for text in PAGE.split("\n## ")[2:] if "Not protected:" not in text]
    assert missing == ["The machine"]


def test_page_is_short():
    assert len(PAGE.split()) <= MAX_WORDS


def claim(name: str) -> str:
    """Return the line with a claim."""
    (line,) = [line for line in PAGE.splitlines() if name in LINK.findall(line)]
    return line


def test_limits_are_those_on_the_page():
    limits = default_limits()
    connections = claim("client-connections")
    assert (MAX_CONNECTIONS, "at most 1,000, half of them" in connections) == (1_000, True)
    assert (MAX_HEADER_BYTES, "64 KiB of headers" in connections) == (64 * 2**10, True)
    assert (limits.header_timeout_s, limits.body_timeout_s, limits.write_timeout_s) == (10, 30, 60)
    assert limits.min_body_bytes_per_s == 8 * 2**10
    assert (
        "ten seconds for headers, 30 seconds and at least 8 KiB/s for a body, 60 seconds to go on reading"
        in connections
    )
    tokens = claim("client-token")
    assert (FREE_ATTEMPTS, "After five wrong tokens" in tokens) == (5, True)
    assert (MAX_DELAY_S, "up to ten seconds" in tokens) == (10, True)
    assert (MAX_DEPTH, "nesting depth of 8" in claim("tool-behavior")) == (8, True)
    assert (MAX_ROUNDS, "ten rounds a call" in claim("server-questions")) == (10, True)
    assert (TIMEOUT_S, "ten seconds, 60 with libraries" in claim("pack-import")) == (10, True)
    assert (web.MAX_BYTES, "at most 4 MiB" in claim("web-page")) == (4 * 2**20, True)


def test_number_of_escape_attempts_is_that_on_the_page():
    (number,) = re.findall(r"More than (\d+) attempts to escape", claim("model-code"))
    assert sum(map(len, CORPUS.values())) + len(HOST_BOMBS) > int(number)
