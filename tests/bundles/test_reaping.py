"""When deleted bundles are removed."""

import pytest

from onetool.bundles.bundles import Bundles
from onetool.bundles.policy import BundlePolicy
from onetool.bundles.virtual import VirtualBundles
from onetool.domain.bundles.bundle import rfc3339
from onetool.storage.memory.activity import MemoryActivity
from onetool.storage.memory.bundles import MemoryBundles
from onetool.storage.memory.toggles import MemoryToggles
from onetool.threads import Threads
from storage.stored_bundles import new_bundle

HOUR = 3600.0


async def nothing(*args):
    """Return no packs, functions and names."""
    return ()


@pytest.mark.parametrize(("hours", "is_removed"), [(47.5, False), (47.99, False), (48.01, True)])
async def test_empty_bundle_is_removed_two_days_after_its_deletion(hours, is_removed):
    store, threads = MemoryBundles(), Threads()
    deleted = await new_bundle(store, soft_deleted_at=rfc3339(1_000.0))
    bundles = Bundles(
        store,
        VirtualBundles(nothing, nothing, nothing, MemoryToggles()),
        MemoryActivity(),
        BundlePolicy(has_function=nothing, find_names=nothing),
        threads=threads,
        new_id=str,
        now=lambda: 1_000.0 + hours * HOUR,
    )
    assert await bundles.reap() == ([deleted.id] if is_removed else [])
    threads.close()
