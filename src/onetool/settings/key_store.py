"""The key store of the system, through the package `keyring`."""

from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, Lock
from typing import Any, TypeVar

from onetool.domain.errors import SettingsError
from onetool.files.installation import extra_command
from onetool.threads import call_with_limit

T = TypeVar("T")
_one_at_a_time = Lock()
"""`keyring` fails if a thread uses it while another one still imports it or sets it up."""
SERVICE = "onetool"
"""The name under which the key store shows the secrets."""
NO_EXTRA = "secrets.backend: the package 'keyring' is not installed. Run: "
NO_STORE = (
    "secrets.backend: this system has no key store that the package 'keyring' can use. Install one, such as "
    "GNOME Keyring or KWallet, or set secrets.backend: file."
)


class KeyStore:
    """Reads and writes secrets in the key store. It blocks, and the system may ask the user to unlock it.

    Every method raises SettingsError if the package or a key store is missing, or if the store fails or does
    not respond. No message contains what a key store says, because that may contain a value.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def read(self, names: Iterable[str]) -> dict[str, str]:
        """Return the values of those names that have one."""
        values = self._use(lambda keyring: {name: keyring.get_password(SERVICE, name) for name in names})
        return {name: value for name, value in values.items() if value}

    def write(self, name: str, value: str) -> None:
        """Store a value, and check that it can be read."""
        if self._use(partial(_write, name, value)) != value:
            raise SettingsError(f"The key store did not store secret {name!r}. Check: keyring diagnose")

    def delete(self, name: str) -> bool:
        """Delete a value. Return False if there is none."""
        return self._use(partial(_delete, name))

    def _use(self, action: Callable[[Any], T]) -> T:
        given_up = Event()

        def use() -> T:
            if not _one_at_a_time.acquire(timeout=self._timeout_s):
                raise TimeoutError
            try:
                if given_up.is_set():  # the caller was told that nothing was stored
                    raise TimeoutError
                return action(_import_keyring())
            finally:
                _one_at_a_time.release()

        try:
            return call_with_limit(use, self._timeout_s)
        except SettingsError:
            raise
        except TimeoutError:
            given_up.set()
            raise SettingsError(
                f"secrets.backend: the key store did not respond within {self._timeout_s:g} s. "
                "Unlock it, or set a higher secrets.timeout_s."
            ) from None
        except Exception as error:  # noqa: BLE001 - the key store is foreign code, with errors of its own
            kind = type(error).__name__
            if kind == "NoKeyringError":
                raise SettingsError(NO_STORE) from None
            raise SettingsError(
                f"secrets.backend: the key store failed ({kind}). Unlock it, or check: keyring diagnose"
            ) from None


def _import_keyring() -> Any:
    try:
        import keyring
    except ImportError:
        raise SettingsError(NO_EXTRA + extra_command("keyring")) from None
    return keyring


def _write(name: str, value: str, keyring: Any) -> str | None:
    keyring.set_password(SERVICE, name, value)
    stored: str | None = keyring.get_password(SERVICE, name)
    return stored


def _delete(name: str, keyring: Any) -> bool:
    if keyring.get_password(SERVICE, name) is None:
        return False
    keyring.delete_password(SERVICE, name)
    return True
