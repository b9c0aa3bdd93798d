"""The security page: every row names tests that exist, and its numbers are those of the code."""

import ast
import re
from functools import cache
from typing import NamedTuple

from onetool.interfaces.rest.auth.middleware import MAX_LOGIN_BYTES
from onetool.interfaces.rest.auth.wrong_tokens import FREE_ATTEMPTS, MAX_DELAY_S
from onetool.interfaces.rest.connections import MAX_CONNECTIONS, MAX_HEADER_BYTES, default_limits
from onetool.pipeline.admission import MAX_DEPTH
from onetool.runtime.call_job import ANSWER_TIMEOUT_S
from onetool.sources.mcp_servers.questions import MAX_ROUNDS
from onetool.sources.python_packs.inspector import TIMEOUT_S
from onetool.starter_packs import web
from sandbox.breakout_programs import CORPUS, HOST_BOMBS
from support.paths import PROJECT as ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
TYPESCRIPT = re.compile(r"`(web/src/tests/\w+\.test\.tsx?)`")


class Row(NamedTuple):
    """A row of the table: who writes something, the worst it could do, what prevents it, and the proof."""

    author: str
    threat: str
    protection: str
    proof: str


def read_rows(page: str) -> list[Row]:
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [Row(*(cell.strip() for cell in line.strip("|").split(" | "))) for line in lines[2:]]


@cache
def functions(path: str) -> frozenset[str]:
    """Return the names of the functions in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def problems(row: Row) -> list[str]:
    """Return what is wrong with the proof of a row."""
    proofs = row.proof.split("<br>")
    found = [] if any(map(TEST.fullmatch, proofs)) else ["no test"]
    for proof in proofs:
        if match := TEST.fullmatch(proof):
            path, name = match.groups()
            is_there = (ROOT / path).is_file() and name in functions(path)
        else:
            match = TYPESCRIPT.fullmatch(proof)
            is_there = bool(match) and (ROOT / match[1]).is_file()
        found += [] if is_there else [f"missing: {proof}"]
    return found


def test_every_row_names_tests_that_exist():
    rows = read_rows(PAGE)
    assert len(rows) >= 29
    assert {f"{row.author}: {row.threat}": problems(row) for row in rows if problems(row)} == {}


def protection(author: str) -> str:
    (row,) = [row for row in read_rows(PAGE) if row.author == author]
    return row.protection


def test_limits_are_those_on_the_page():
    limits = default_limits()
    times = (limits.header_timeout_s, limits.body_timeout_s, limits.write_timeout_s)
    connections = protection("a client that opens connections and sends little")
    assert (MAX_CONNECTIONS, "at most 1,000 connections" in connections) == (1_000, True)
    assert (MAX_HEADER_BYTES, "64 KiB of headers" in connections) == (64 * 2**10, True)
    assert times == (10, 30, 60)
    assert "ten seconds for headers, 30 seconds and at least 8 KiB/s for a body, 60 seconds" in connections
    assert limits.min_body_bytes_per_s == 8 * 2**10
    tokens = protection("a client without the token")
    assert (FREE_ATTEMPTS, "after five wrong ones" in tokens) == (5, True)
    assert (MAX_DELAY_S, "up to ten seconds" in tokens) == (10, True)
    assert (MAX_LOGIN_BYTES, "4 KiB" in tokens) == (4 * 2**10, True)
    assert (MAX_DEPTH, "nesting depth 8" in protection("a tool: behavior")) == (8, True)
    questions = protection("another MCP server: questions")
    assert (MAX_ROUNDS, "ten rounds a call" in questions) == (10, True)
    assert (ANSWER_TIMEOUT_S, "ten minutes" in protection("a client: request state")) == (600, True)
    assert (TIMEOUT_S, "a ten-second limit" in protection("a pack file at import")) == (10, True)
    assert (web.MAX_BYTES, "at most 4 MiB" in protection("a web page that a tool reads")) == (4 * 2**20, True)


def test_number_of_escape_attempts_is_that_on_the_page():
    (number,) = re.findall(r"more than (\d+) escape attempts", protection("a model: code for `run`"))
    assert sum(map(len, CORPUS.values())) + len(HOST_BOMBS) > int(number)
