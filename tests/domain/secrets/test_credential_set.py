"""The credentials of a process and of its calls."""

import threading

from onetool.domain.secrets.credential_set import MAX_RECENT, CredentialSet
from onetool.domain.secrets.redaction import MASK
from onetool.domain.secrets.secret import Secret


def test_call_redacts_its_own_credentials_and_those_of_the_process():
    process = CredentialSet()
    process.keep(["configured"])
    first, second = CredentialSet(process), CredentialSet(process)
    first.add("derived-by-the-first")
    process.add("issued-later")
    text = "configured derived-by-the-first issued-later"
    assert process.redact(text) == f"{MASK} derived-by-the-first {MASK}"
    assert first.redact(text) == f"{MASK} {MASK} {MASK}"
    assert second.redact(text) == process.redact(text)


def test_values_are_redacted_from_the_moment_they_are_added():
    credentials = CredentialSet()
    assert credentials.redact("hunter2 hunter3") == "hunter2 hunter3"
    credentials.add("hunter2")
    assert credentials.redact("hunter2 hunter3") == f"{MASK} hunter3"
    credentials.keep(["hunter3"])
    credentials.keep(["hunter3"])
    credentials.add("hunter2", "hunter3")
    assert credentials.redact("hunter2 hunter3") == f"{MASK} {MASK}"
    assert credentials.mask({"hunter2": ["hunter3", 1]}) == {MASK: [MASK, 1]}


def test_only_the_latest_issued_credentials_are_redacted():
    """Issued tokens expire, so their number is limited. Configured secrets are always redacted."""
    credentials = CredentialSet()
    credentials.keep(["configured"])
    for number in range(MAX_RECENT + 1):
        credentials.add(f"issued-{number}-")
    assert credentials.redact("configured issued-0- issued-1-") == f"{MASK} issued-0- {MASK}"


def test_credentials_are_added_from_several_threads():
    credentials = CredentialSet()
    values = [[f"token-{thread}-{number}-" for number in range(20)] for thread in range(5)]

    def add(tokens):
        for token in tokens:
            credentials.add(token)
            assert credentials.redact(token) == MASK

    threads = [threading.Thread(target=add, args=(tokens,)) for tokens in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(credentials.redact(token) == MASK for tokens in values for token in tokens)


def test_repr_shows_no_value():
    credentials = CredentialSet()
    credentials.add("hunter2")
    assert "hunter2" not in repr(credentials)


def test_only_the_latest_values_made_from_secrets_are_bound():
    credentials = CredentialSet()
    for number in range(MAX_RECENT + 1):
        credentials.bind(Secret(name="KEY", value=f"token-{number}-", hosts=("a.test",)))
    credentials.bind(Secret(name="KEY", value="token-1-", hosts=("b.test",)))
    assert len(credentials.bound) == MAX_RECENT
    assert credentials.bound[-1] == Secret(name="KEY", value="token-1-", hosts=("a.test", "b.test"))
    assert credentials.redact("token-1- token-5-") == f"{MASK} {MASK}"
