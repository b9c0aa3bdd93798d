"""The key store of the system."""

import sys
import threading
from types import SimpleNamespace

import pytest

from onetool.domain.errors import SettingsError
from onetool.settings.key_store import KeyStore
from support.waiting import HANG_S


def test_key_store_that_hangs_is_not_used_by_another_thread(monkeypatch):
    """The package of the key store is not made for several threads, and one still waits after its limit."""
    hanging, release, ended, entered = threading.Event(), threading.Event(), threading.Event(), []

    def get_password(service, name):
        entered.append(name)
        hanging.set()
        release.wait()
        ended.set()

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=get_password))
    with pytest.raises(SettingsError, match="did not respond"):
        KeyStore(timeout_s=0.01).read(["FIRST"])
    assert hanging.wait(HANG_S)
    try:
        with pytest.raises(SettingsError, match="did not respond"):
            KeyStore(timeout_s=0.01).read(["SECOND"])
    finally:
        release.set()
    assert ended.wait(HANG_S)
    assert KeyStore(timeout_s=HANG_S).read(["THIRD"]) == {}
    assert entered == ["FIRST", "THIRD"]
