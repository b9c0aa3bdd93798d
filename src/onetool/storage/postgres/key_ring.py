"""Keys that seal what the database must not reveal: AES-256-GCM, bound to the place of each value."""

import base64
import binascii
import hmac
import json
import os
import re
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from onetool.domain.errors import SettingsError, StoreUnavailable

KEY_BYTES, NONCE_BYTES = 32, 12
KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
FORMAT = "Write NAME:KEY with 32 bytes in base64; `onetool admin new-key` prints one."


class KeyRing:
    """Keys by name. The first one seals, all of them open. No repr shows a key."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = dict(keys)
        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self.current = next(iter(keys))
        """The name of the key that seals."""

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    @staticmethod
    def parse(text: str) -> "KeyRing":
        """Read keys as `NAME:KEY`, separated by commas.

        Raises:
            SettingsError: The text has no keys, or an invalid one. The message does not quote it.
        """
        keys: dict[str, bytes] = {}
        for number, part in enumerate(filter(None, map(str.strip, text.split(","))), 1):
            name, _, encoded = part.partition(":")
            try:
                key = base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                key = b""
            if KEY_ID.fullmatch(name) is None or len(key) != KEY_BYTES or name in keys:
                raise SettingsError(f"Key {number} of ONETOOL_KEYS is invalid. {FORMAT}")
            keys[name] = key
        if not keys:
            raise SettingsError(f"ONETOOL_KEYS has no key. {FORMAT}")
        return KeyRing(keys)

    def starting_with(self, name: str) -> "KeyRing":
        """Return the same keys, of which this one seals."""
        return KeyRing({name: self._keys[name]} | self._keys)

    def derived(self, purpose: str) -> "KeyRing":
        """Return keys for a purpose, so that however much they seal, these keys do not wear out."""
        return KeyRing(
            {name: hmac.digest(key, purpose.encode(), "sha256") for name, key in self._keys.items()}
        )

    def seal(self, plain: bytes, *place: str) -> bytes:
        """Encrypt a value with the first key. It can only be opened for the same place."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self.current].encrypt(nonce, plain, _associated(place))
        return key_prefix(self.current) + nonce + sealed

    def open(self, sealed: bytes, *place: str) -> bytes:
        """Decrypt a value that was sealed for this place.

        Raises:
            StoreUnavailable: The key is missing, or the value was changed or moved.
        """
        name, nonce, data = _split(sealed)
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise StoreUnavailable(f"A value is sealed with key {name!r}, which this process does not have.")
        try:
            return cipher.decrypt(nonce, data, _associated(place))
        except (InvalidTag, ValueError):  # the latter: it is too short
            raise StoreUnavailable(
                f"A value cannot be opened with key {name!r}: it was changed or moved."
            ) from None


def new_key(name: str) -> str:
    """Return a new key in the form that `KeyRing.parse` reads."""
    return f"{name}:{base64.b64encode(os.urandom(KEY_BYTES)).decode()}"


def key_name(sealed: bytes) -> str:
    """Return the name of the key that has sealed a value."""
    return _split(sealed)[0]


def key_prefix(name: str) -> bytes:
    """Return how every value begins that a key has sealed."""
    return bytes([len(name)]) + name.encode()


def _associated(place: tuple[str, ...]) -> bytes:
    return json.dumps(place).encode()


def _split(sealed: bytes) -> tuple[str, bytes, bytes]:
    """Return the name of the key, the nonce and the encrypted data."""
    start = 1 + (sealed[0] if sealed else 0)
    end = start + NONCE_BYTES
    return sealed[1:start].decode("ascii", "replace"), sealed[start:end], sealed[end:]
