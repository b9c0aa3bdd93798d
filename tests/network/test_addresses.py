"""Recognition of addresses that are not public, in all their forms."""

import pytest

from onetool.network.addresses import is_listed, is_public


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "168.63.129.16",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:53aa:64c:0:0:80ff:fffe",
        "2001:db8::1",
        "fec0::1",
        "5f00::1",
        "3fff::1",
        "4000::1",
    ],
)
def test_address_is_not_public(address):
    """Loopback, private, link-local, metadata and multicast addresses, and IPv6 addresses that embed them."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_address_is_public(address):
    assert is_public(address)


def test_hosts_are_listed_by_name_or_domain():
    """Case and a trailing dot are ignored."""
    assert is_listed("API.example.com.", ["*.example.com"])
    assert is_listed("localhost", ["localhost"])
    assert not is_listed("example.com", ["*.example.com"])
    assert not is_listed("evilexample.com", ["*.example.com"])
    assert not is_listed("anything", [])
