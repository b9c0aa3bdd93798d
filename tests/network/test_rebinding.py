"""DNS rebinding with a real name server: a name has a public address first, then a private one."""

import json
import shutil
import subprocess
import sys

import pytest

from network import rebinding_names
from support.waiting import HANG_S

REJECTED = "resolves to 127.0.0.1, which is not public."


@pytest.mark.guards("url-private")
@pytest.mark.linux
def test_name_that_changes_its_address_does_not_lead_to_a_private_server(tmp_path):
    """For HTTP tools, their redirects, requests of packs, and the metadata of logins."""
    resolver = tmp_path / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n")
    command = [*rebinding_names.COMMAND, str(resolver)]
    if (
        not shutil.which("unshare")
        or subprocess.run([*command, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("needs user namespaces")
    words = [*command, sys.executable, rebinding_names.__file__]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    outcomes = report["outcomes"]
    for name in ("tool", "pack"):
        assert rebinding_names.PUBLIC in outcomes[name][0]
    assert "not public" not in outcomes["login"][0]
    for name, attempts in outcomes.items():
        assert REJECTED in attempts[-1], name
    assert (report["public"], report["private"]) == (4, 0)
