"""What all stores have in common: no method blocks the event loop, and every store can be closed."""

import inspect
from pathlib import Path

import pytest

from onetool import ports
from onetool.bootstrap.stores import memory_stores, open_file_stores
from onetool.domain.bundles.bundle import Bundle
from onetool.domain.jobs.job import Job
from onetool.settings.paths import find_paths
from onetool.threads import Threads

PORTS = {
    "activity": ports.ActivityStore,
    "results": ports.ResultStore,
    "bundles": ports.BundleStore,
    "toggles": ports.ToggleStore,
    "manifests": ports.ManifestStore,
    "tokens": ports.TokenStore,
    "http_tokens": ports.TokenStore,
    "sessions": ports.SessionStore,
    "session_leases": ports.SessionLeases,
    "session_approvals": ports.SessionApprovalStore,
    "jobs": ports.JobStore,
    "client_sessions": ports.ClientSessionStore,
}
NOT_COROUTINES = {"generation", "problems", "owner", "exclusive", "lease_s"}
"""Cheap by contract, and an async context manager."""


@pytest.fixture(params=["memory", "files"])
async def stores(request, home):
    if request.param == "memory":
        return memory_stores()
    return await open_file_stores(find_paths(home.env, home.cwd), Threads())


def public_names(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", PORTS)
async def test_every_method_is_a_coroutine(stores, name):
    store = getattr(stores, name)
    methods = public_names(PORTS[name]) - NOT_COROUTINES
    assert "aclose" in methods
    assert [method for method in methods if not inspect.iscoroutinefunction(getattr(store, method))] == []


async def test_stores_are_closed_in_reverse_order_and_more_than_once(stores, monkeypatch):
    closed = []
    for name in PORTS:
        monkeypatch.setattr(getattr(stores, name), "aclose", recorder(getattr(stores, name), name, closed))
    await stores.aclose()
    await stores.aclose()
    assert closed == [*reversed(PORTS)] * 2


def recorder(store, name, closed):
    close = store.aclose

    async def aclose():
        closed.append(name)
        await close()

    return aclose


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="requires /proc")
async def test_closed_stores_hold_no_file_open(stores, home):
    bundle = Bundle(id="0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77", slug="x")
    await stores.bundles.change_bundle(bundle.id, lambda _: bundle)
    await stores.jobs.put(Job("0" * 32, "ann", "demo.tool", "d", stores.jobs.owner, 0.0))
    await stores.aclose()
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    open_files = [str(link.readlink()) for link in links]
    assert [file for file in open_files if str(home.root) in file] == []
    assert await stores.bundles.bundle(bundle.id) == bundle  # a closed store opens again when it is used
    await stores.aclose()
