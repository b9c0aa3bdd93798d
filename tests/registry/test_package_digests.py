"""Digests of packages from npm and from package indexes."""

import pytest

from onetool.domain.servers.registry_launch import ServerLaunch
from onetool.registry.package_digests import DigestUnavailable, PackageMismatch, package_digests
from support.registry_stub import INTEGRITY, SHA256, RegistryStub

NPM = ServerLaunch(kind="npm", identifier="@a/b", version="1.0.0")
PYPI = ServerLaunch(kind="pypi", identifier="Mcp_Server.Time", version="0.5.1")
WHEEL = "mcp_server_time-0.5.1-py3-none-any.whl"


@pytest.fixture
def stub():
    with RegistryStub() as running:
        yield running


def test_npm_publishes_an_integrity_value(stub):
    assert package_digests(NPM, stub.env) == {"@a/b@1.0.0": INTEGRITY}
    assert stub.requests[0].path == "/npm/@a%2Fb/1.0.0"


def test_python_files_of_the_version_have_hashes(stub):
    stub.files |= {
        "mcp_server_time-0.5.1.tar.gz": "b" * 64,
        "mcp_server_time-x.zip": "c" * 64,
        "y.txt": "d" * 64,
    }
    assert package_digests(PYPI, stub.env) == {
        WHEEL: f"sha256:{SHA256}",
        "mcp_server_time-0.5.1.tar.gz": f"sha256:{'b' * 64}",
    }
    assert stub.requests[0].path == "/simple/mcp-server-time/"


def test_hash_of_the_registry_is_compared(stub):
    launch = ServerLaunch(kind="pypi", identifier="x", version="0.5.1", sha256=SHA256)
    assert package_digests(launch, stub.env)
    with pytest.raises(PackageMismatch, match="has the hash of the registry"):
        package_digests(ServerLaunch(kind="pypi", identifier="x", version="0.5.1", sha256="a" * 64), stub.env)


@pytest.mark.parametrize("launch", [NPM, PYPI])
def test_missing_package_is_an_error(launch, stub):
    stub.index_status = 404
    with pytest.raises(PackageMismatch):
        package_digests(launch, stub.env)


def test_missing_version_is_an_error(stub):
    stub.files = {"mcp_server_time-9.0-py3-none-any.whl": SHA256}
    with pytest.raises(PackageMismatch, match=r"no Mcp_Server\.Time 0\.5\.1"):
        package_digests(PYPI, stub.env)


@pytest.mark.parametrize("launch", [NPM, PYPI])
def test_failing_index_gives_no_digest(launch, stub):
    stub.index_status = 500
    with pytest.raises(DigestUnavailable, match="500"):
        package_digests(launch, stub.env)


@pytest.mark.parametrize("launch", [NPM, PYPI])
def test_unreachable_index_gives_no_digest(launch):
    env = {"npm_config_registry": "http://127.0.0.1:1", "PIP_INDEX_URL": "http://127.0.0.1:1"}
    with pytest.raises(DigestUnavailable, match=r"127\.0\.0\.1"):
        package_digests(launch, env)


@pytest.mark.parametrize("integrity", [None, 5, "md5-x", "sha512-" + "A" * 86 + "\x1b", {}])
def test_invalid_integrity_counts_as_missing(integrity, stub):
    stub.integrity = integrity
    with pytest.raises(DigestUnavailable):
        package_digests(NPM, stub.env)


def test_next_index_is_tried(stub):
    env = {"PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_EXTRA_INDEX_URL": f"{stub.url}/simple"}
    assert WHEEL in package_digests(PYPI, env)
    with pytest.raises(DigestUnavailable, match="no HTTP index"):
        package_digests(PYPI, {"PIP_INDEX_URL": "file:///x"})


def test_images_have_no_digest():
    with pytest.raises(DigestUnavailable):
        package_digests(ServerLaunch(kind="oci", identifier="a:1", version="1"), {})


def test_passwords_of_an_index_are_not_in_the_message():
    env = {"npm_config_registry": "http://user:hunter2@127.0.0.1:1"}
    with pytest.raises(DigestUnavailable) as caught:
        package_digests(NPM, env)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(DigestUnavailable, match="invalid URL"):
        package_digests(NPM, {"npm_config_registry": "http://user:hunter2@x:port"})
