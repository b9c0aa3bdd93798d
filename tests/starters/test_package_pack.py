"""The package pack: newest versions from servers that speak like PyPI and npm."""

import pytest

from onetool.testing import HttpStub, Reply, memory_runtime


def pypi(version, **info):
    return Reply(
        {"info": {"version": version, **info}, "urls": [{"upload_time_iso_8601": "2026-01-02T03:04:05Z"}]}
    )


async def ask(tool, answers, **args):
    with HttpStub(answers) as stub:
        told = {"pypi_url": stub.url, "npm_url": f"{stub.url}/"}
        settings = {"allowedHosts": ["127.0.0.1"], "packs": {"package": told}}
        async with memory_runtime(settings=settings) as ot:
            result = await ot.call(f"package.{tool}", **args)
    return result, stub.requests


async def test_versions_on_pypi():
    """Several at once, in order; a missing one says so in its place."""
    answers = {
        "/pypi/a/json": pypi("1.2", home_page="https://a.example"),
        "/pypi/b.c/json": pypi("2.0", project_urls={"Homepage": "https://b.example", "Docs": "x"}),
    }
    result, _ = await ask("versions", answers, names=["a", "gone", "b.c", "a"])
    first = {"name": "a", "version": "1.2", "released": "2026-01-02", "homepage": "https://a.example"}
    assert result.data == [
        first,
        {"name": "gone", "error": "There is no package 'gone' on pypi."},
        {"name": "b.c", "version": "2.0", "released": "2026-01-02", "homepage": "https://b.example"},
        first,
    ]


async def test_versions_on_npm():
    """A name with a scope is one part of the path, and the date is that of the newest version."""
    answers = {
        "/@s%2Fa/latest": Reply({"version": "3.1.0", "homepage": "https://a.example"}),
        "/@s%2Fa": Reply(
            {"dist-tags": {"latest": "3.1.0"}, "time": {"3.0.0": "2020-01-01T", "3.1.0": "2026-05-06T07"}}
        ),
        "/b/latest": Reply({"version": "1"}),
        "/b": Reply("no date here"),
    }
    result, _ = await ask("versions", answers, names=["@s/a", "b"], index="npm")
    assert result.data == [
        {"name": "@s/a", "version": "3.1.0", "released": "2026-05-06", "homepage": "https://a.example"},
        {"name": "b", "version": "1", "released": "", "homepage": ""},
    ]


@pytest.mark.parametrize("index", ["pypi", "npm"])
async def test_a_name_leads_to_no_other_place(index):
    """Only what can be a name is put into a URL."""
    names = ["../etc", "a/../b", "a?x=1", "a b", "", "@x/../y", "a#", ".", "a" * 300, "a\n", "%2e%2e"]
    result, requests = await ask("versions", {}, names=names, index=index)
    assert all("is not a name of a package" in one["error"] for one in result.data)
    assert requests == []


async def test_a_strange_answer_harms_nobody():
    """The others are answered all the same."""
    odd = [Reply("<html>"), Reply("", 500), Reply({}), Reply([]), Reply({"info": 1, "urls": [2]})]
    answers = {f"/pypi/odd{number}/json": answer for number, answer in enumerate(odd)}
    names = [f"odd{number}" for number in range(len(odd))]
    result, _ = await ask("versions", {**answers, "/pypi/a/json": pypi("1")}, names=[*names, "a"])
    assert ["error" in one for one in result.data] == [True, True, False, False, False, False]
    assert result.data[-1]["version"] == "1"


async def test_outdated_requirements():
    """Only those that keep their newest version out; options, comments, hashes and URLs are passed over."""
    text = """# comment
-r other.txt
--index-url https://example.com
old==1.0 \\
    --hash=sha256:abc
fresh==2.0  # pinned to the newest
open>=1.0
below[extra]<2; python_version > "3"
wild==1.*
any
direct @ https://example.com/direct.whl
"""
    answers = {f"/pypi/{name}/json": pypi("2.0") for name in ("old", "fresh", "open", "below", "wild")}
    result, requests = await ask("outdated", answers, requirements_text=text)
    shown = {one["name"]: one["required"] for one in result.data}
    assert shown == {"old": "==1.0", "below": "<2", "wild": "==1.*"}
    assert result.data[0] == {"name": "old", "required": "==1.0", "newest": "2.0", "released": "2026-01-02"}
    assert len(requests) == 5


async def test_what_is_no_requirement_is_shown():
    """The line is repeated, and how it should look."""
    result, _ = await ask("outdated", {}, requirements_text="a==1\n!!! what\n")
    assert "'!!! what' is not a requirement" in result.error.message


async def test_too_many_at_once():
    """An index is not flooded."""
    result, requests = await ask("versions", {}, names=["a"] * 101)
    assert "101 names are too many" in result.error.message
    many = "\n".join(f"p{number}==1" for number in range(101))
    result, more = await ask("outdated", {}, requirements_text=many)
    assert "101 requirements are too many" in result.error.message
    assert requests == more == []
