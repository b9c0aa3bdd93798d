"""Problem responses of the routes for servers of the registry."""

from collections.abc import Iterator
from contextlib import contextmanager

from onetool.domain.errors import SettingsError
from onetool.domain.servers.registry_inputs import UnsupportedEntry
from onetool.interfaces.server_settings.installation import PlanChanged, UnknownInput
from onetool.interfaces.server_settings.registry_access import InstallationRefused
from onetool.registry.client import EntryNotFound, RegistryError, RegistryUnreachable

from .problems import ProblemError


@contextmanager
def registry_problems() -> Iterator[None]:
    """Convert what the registry, a check or the disk refuses.

    Raises:
        ProblemError: It was refused.
    """
    try:
        yield
    except EntryNotFound as error:
        raise ProblemError(404, str(error)) from None
    except RegistryUnreachable as error:
        raise ProblemError(502, str(error)) from None
    except (RegistryError, InstallationRefused, PlanChanged, SettingsError) as error:
        raise ProblemError(409, _sentence(str(error))) from None
    except (UnknownInput, UnsupportedEntry) as error:
        raise ProblemError(400, _sentence(str(error))) from None
    except TimeoutError:
        raise
    except OSError as error:
        raise ProblemError(503, f"The settings cannot be written: {error.strerror}.") from None


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
