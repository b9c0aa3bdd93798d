"""The package pack: latest versions from stubs of PyPI and npm."""

import pytest

from onetool.testing import HttpStub, StubResponse, memory_runtime


def pypi(version, **info):
    return StubResponse(
        {"info": {"version": version, **info}, "urls": [{"upload_time_iso_8601": "2026-01-02T03:04:05Z"}]}
    )


async def call(tool, responses, **args):
    with HttpStub(responses) as stub:
        urls = {"pypi_url": stub.url, "npm_url": f"{stub.url}/"}
        settings = {"allowedHosts": ["127.0.0.1"], "packs": {"package": urls}}
        async with memory_runtime(settings=settings) as ot:
            result = await ot.call(f"package.{tool}", **args)
    return result, stub.requests


async def test_versions_on_pypi():
    """The order of the names is preserved; a missing package has an error entry."""
    responses = {
        "/pypi/a/json": pypi("1.2", home_page="https://a.example"),
        "/pypi/b.c/json": pypi("2.0", project_urls={"Homepage": "https://b.example", "Docs": "x"}),
    }
    result, _ = await call("versions", responses, names=["a", "gone", "b.c", "a"])
    first = {"name": "a", "version": "1.2", "released": "2026-01-02", "homepage": "https://a.example"}
    assert result.data == [
        first,
        {"name": "gone", "error": "Package 'gone' not found on pypi."},
        {"name": "b.c", "version": "2.0", "released": "2026-01-02", "homepage": "https://b.example"},
        first,
    ]


async def test_versions_on_npm():
    """A scoped name is one path segment; the date is that of the latest version."""
    responses = {
        "/@s%2Fa/latest": StubResponse({"version": "3.1.0", "homepage": "https://a.example"}),
        "/@s%2Fa": StubResponse(
            {"dist-tags": {"latest": "3.1.0"}, "time": {"3.0.0": "2020-01-01T", "3.1.0": "2026-05-06T07"}}
        ),
        "/b/latest": StubResponse({"version": "1"}),
        "/b": StubResponse("no date here"),
    }
    result, _ = await call("versions", responses, names=["@s/a", "b"], index="npm")
    assert result.data == [
        {"name": "@s/a", "version": "3.1.0", "released": "2026-05-06", "homepage": "https://a.example"},
        {"name": "b", "version": "1", "released": "", "homepage": ""},
    ]


@pytest.mark.parametrize("index", ["pypi", "npm"])
async def test_invalid_names_are_not_requested(index):
    names = ["../etc", "a/../b", "a?x=1", "a b", "", "@x/../y", "a#", ".", "a" * 300, "a\n", "%2e%2e"]
    result, requests = await call("versions", {}, names=names, index=index)
    assert all("is not a valid package name" in entry["error"] for entry in result.data)
    assert requests == []


async def test_malformed_response_does_not_affect_other_packages():
    malformed = [
        StubResponse("<html>"),
        StubResponse("", 500),
        StubResponse({}),
        StubResponse([]),
        StubResponse({"info": 1, "urls": [2]}),
    ]
    responses = {f"/pypi/odd{number}/json": response for number, response in enumerate(malformed)}
    names = [f"odd{number}" for number in range(len(malformed))]
    result, _ = await call("versions", {**responses, "/pypi/a/json": pypi("1")}, names=[*names, "a"])
    assert ["error" in entry for entry in result.data] == [True, True, False, False, False, False]
    assert result.data[-1]["version"] == "1"


async def test_outdated_requirements():
    """Options, comments, hashes and URLs are ignored."""
    text = """# comment
-r other.txt
--index-url https://example.com
old==1.0 \\
    --hash=sha256:abc
fresh==2.0  # pinned to the latest
open>=1.0
below[extra]<2; python_version > "3"
wild==1.*
any
direct @ https://example.com/direct.whl
"""
    responses = {f"/pypi/{name}/json": pypi("2.0") for name in ("old", "fresh", "open", "below", "wild")}
    result, requests = await call("outdated", responses, requirements_text=text)
    required = {entry["name"]: entry["required"] for entry in result.data}
    assert required == {"old": "==1.0", "below": "<2", "wild": "==1.*"}
    assert result.data[0] == {"name": "old", "required": "==1.0", "newest": "2.0", "released": "2026-01-02"}
    assert len(requests) == 5


async def test_invalid_requirement_is_named():
    result, _ = await call("outdated", {}, requirements_text="a==1\n!!! what\n")
    assert "'!!! what' is not a valid requirement" in result.error.message


async def test_number_of_packages_is_limited():
    result, requests = await call("versions", {}, names=["a"] * 101)
    assert "Too many names: 101" in result.error.message
    many = "\n".join(f"p{number}==1" for number in range(101))
    result, more_requests = await call("outdated", {}, requirements_text=many)
    assert "Too many requirements: 101" in result.error.message
    assert requests == more_requests == []
