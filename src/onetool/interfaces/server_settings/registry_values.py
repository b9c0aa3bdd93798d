"""The values that a server of the registry wants: given, from an earlier installation or by asking."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onetool.domain.secrets.detection import is_probably_secret
from onetool.domain.servers.registry_inputs import RegistryInput, is_reference
from onetool.domain.servers.registry_launch import ServerLaunch


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenValues:
    """Values that need no question."""

    named: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    paths: Sequence[str] = ()
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values of the installed version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputProblem:
    """Why an input has no usable value. The reason never contains the value of a secret."""

    wanted: RegistryInput | None
    """The input; None if a value belongs to none."""
    reason: str
    is_missing: bool = False


class _UnsuitableValue(Exception):
    """A value cannot be used. The message is a sentence."""


@dataclass(slots=True, kw_only=True)
class ValueCollector:
    """Collects the values of a launch. Secrets are replaced by references."""

    server: str
    taken: Collection[str]
    """The names of existing secrets."""
    on_problem: Callable[[InputProblem], None]
    """Called for each problem. If it returns, the input stays without a value."""
    ask: Callable[[RegistryInput], str] | None = None
    """Asks the user for a value; None if the user cannot be asked."""
    allow_relative: bool = True
    """Whether a path may be relative to the working directory."""
    values: dict[str, list[str]] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    def collect(self, launch: ServerLaunch, given: GivenValues) -> None:
        """Find a value for every input that needs one."""
        paths = list(given.paths)
        path_names = [found.name for found in launch.inputs if found.is_path]
        for found in launch.inputs:
            texts: Sequence[str]
            if found.is_path and paths and found.name not in given.named:
                count = len(paths) if found.name == path_names[-1] else 1
                texts, paths = paths[:count], paths[count:]
            else:
                texts = self._find(found, given, allow_secret=found.name in launch.accepts_secrets)
            try:
                if len(given.named.get(found.name, ())) > 1 and found.name not in launch.repeated_inputs:
                    raise _UnsuitableValue(f"{found.name!r} accepts one value.")
                checked = [self._check(found, text, launch) for text in texts]
            except _UnsuitableValue as error:
                self.on_problem(InputProblem(wanted=found, reason=str(error)))
                continue
            if checked:
                self.values[found.name] = checked
        if paths:
            reason = f"The server wants no further path: {paths[0]!r}."
            self.on_problem(InputProblem(wanted=None, reason=reason))

    def _find(self, found: RegistryInput, given: GivenValues, *, allow_secret: bool) -> Sequence[str]:
        if found.name in given.named:
            return given.named[found.name]
        if found.name in given.known:
            return given.known[found.name]
        if found.is_secret and not allow_secret:
            return []  # optional, and there is no place for it
        if found.default and not found.is_secret:
            return [self.ask(found)] if self.ask and found.is_required else []
        if self.ask and (found.is_secret or found.is_required or found.is_path):
            text = self.ask(found)
            return [text] if text else []
        if found.is_required:
            reason = f"The server requires {found.name!r}."
            self.on_problem(InputProblem(wanted=found, reason=reason, is_missing=True))
        return []

    def _check(self, found: RegistryInput, text: str, launch: ServerLaunch) -> str:
        """Return the text to write to the settings."""
        can_refer = found.name in launch.accepts_secrets
        if found.choices and text not in found.choices:
            raise _UnsuitableValue(f"{found.name!r} must be one of: {', '.join(found.choices)}.")
        if can_refer and is_reference(text):
            self._check_reference(text[2:-1])
            return text
        for forbidden, shown in (("${", "'${'"), ("\0", "a null character")):
            if forbidden in text:
                raise _UnsuitableValue(f"The value of {found.name!r} cannot contain {shown}.")
        if found.is_path:
            return self._check_path(found, text)
        is_secret = found.is_secret or (can_refer and is_probably_secret(found.name, text))
        return self._store_secret(found.name, text) if is_secret else text

    def _check_path(self, found: RegistryInput, text: str) -> str:
        try:
            path = Path(text).expanduser()
        except RuntimeError:
            raise _UnsuitableValue(f"The home directory in {text!r} is unknown.") from None
        if not (self.allow_relative or path.is_absolute()):
            raise _UnsuitableValue(f"{found.name!r} must be an absolute path, not {text!r}.")
        return str(path.absolute())

    def _check_reference(self, name: str) -> None:
        if name not in self.taken and name not in self.secrets:
            raise _UnsuitableValue(f"There is no secret {name!r} in secrets.yaml.")

    def _store_secret(self, name: str, value: str) -> str:
        label = "".join(char if char.isalnum() else "_" for char in f"{self.server}_{name}").upper()
        candidate, number = label, 2
        while candidate in self.taken or candidate in self.secrets:
            candidate, number = f"{label}_{number}", number + 1
        self.secrets[candidate] = value
        return f"${{{candidate}}}"
