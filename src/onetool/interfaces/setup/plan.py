"""The import of a setup: what would be written, compared with what exists, and its writing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from onetool.domain.bundles.bundle import Bundle, BundleNotFound, ToolVersion
from onetool.domain.errors import SettingsError
from onetool.files.atomic import write_atomic, write_new
from onetool.files.safe_yaml import parse_yaml
from onetool.interfaces.server_settings.settings_file import edit_prompts, edit_settings
from onetool.runtime.runtime import Runtime
from onetool.settings.documents import PACKS_DIR, PROMPTS_FILE, SETTINGS_FILE
from onetool.settings.paths import Paths

from .contents import InvalidSetup, Setup
from .settings_merge import SettingChange, Status, apply_changes, plan_changes, select_changes


class SetupChanged(Exception):
    """Something changed after it was shown. The message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBundle:
    """A bundle of a setup."""

    bundle: Bundle
    tools: Sequence[ToolVersion]
    status: Status
    content: bytes
    was_enabled: bool
    is_enabled: bool = False
    """Whether the stored bundle is enabled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPack:
    """A pack file of a setup."""

    name: str
    status: Status
    content: bytes
    present: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlan:
    """What an import of a setup would write. What exists and differs is kept, unless `replace` is set."""

    setup: Setup
    replace: bool
    bundles: Sequence[PlannedBundle] = ()
    packs: Sequence[PlannedPack] = ()
    settings: Sequence[SettingChange] = ()
    prompts: Sequence[SettingChange] = ()
    disabled: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The packs and the tools to disable."""
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Servers that cannot be added, with the reason."""

    @property
    def selected_packs(self) -> list[PlannedPack]:
        """The pack files to write."""
        statuses = ("new", "changed") if self.replace else ("new",)
        return [pack for pack in self.packs if pack.status in statuses]

    @property
    def selected_bundles(self) -> list[PlannedBundle]:
        """The bundles to store. Versions of stored tools never change, so none is replaced."""
        return [bundle for bundle in self.bundles if bundle.status == "new"]

    @property
    def enabled_bundles(self) -> list[PlannedBundle]:
        """The bundles to enable, if the user wants that."""
        return [
            bundle
            for bundle in self.bundles
            if bundle.was_enabled and bundle.status != "changed" and not bundle.is_enabled
        ]


class StoredState(NamedTuple):
    """What a runtime knows about the parts of a setup."""

    bundles: list[PlannedBundle]
    disabled: tuple[tuple[str, ...], tuple[str, ...]]
    """The packs and the tools that the setup disables and that are not disabled yet."""
    packs: frozenset[str]
    """Packs that are not servers."""


async def compare_stored(runtime: Runtime, setup: Setup) -> StoredState:
    """Compare a setup with what is stored.

    Raises:
        BundleError: A bundle is invalid.
        InvalidSetup: A bundle has another id than its directory.
    """
    bundles = await _plan_bundles(runtime, setup)
    packs, tools = await runtime.state.bundles.disabled_names()
    disabled = (
        tuple(name for name in setup.manifest.disabled_packs if name not in packs),
        tuple(name for name in setup.manifest.disabled_tools if name not in tools),
    )
    names = frozenset(await runtime.state.catalog.packs()) - frozenset(runtime.state.servers)
    return StoredState(bundles, disabled, names)


async def _plan_bundles(runtime: Runtime, setup: Setup) -> list[PlannedBundle]:
    """Compare the bundles of a setup with the stored ones."""
    planned: list[PlannedBundle] = []
    transfer = runtime.state.transfer
    for id, content in setup.bundles.items():
        bundle, tools = await transfer.read_archive(content)
        if bundle.id != id:
            raise InvalidSetup(f"bundles/{id} contains the bundle {bundle.id!r}.")
        is_enabled = False
        try:
            present = await transfer.read_archive(await transfer.export(bundle.id))
            status: Status = "same" if tuple(present) == (bundle, tools) else "changed"
            is_enabled = any(found.is_enabled for found in await runtime.state.bundles.named(bundle.id))
        except BundleNotFound:
            status = "new"
        planned.append(
            PlannedBundle(
                bundle=bundle,
                tools=tools,
                status=status,
                content=content,
                was_enabled=bundle.id in setup.enabled_bundles,
                is_enabled=is_enabled,
            )
        )
    return planned


def plan_setup(paths: Paths, setup: Setup, stored: StoredState, *, replace: bool) -> SetupPlan:
    """Compare a setup with the user's files. It blocks.

    Raises:
        SettingsError: The user's settings are invalid.
    """
    rejected = {
        f"servers.{name}": f"a pack {name!r} already exists"
        for name in setup.settings.get("servers") or ()
        if name in stored.packs
    }
    current = read_map(paths.config / SETTINGS_FILE)
    changes = [change for change in plan_changes(current, setup.settings) if change.name not in rejected]
    return SetupPlan(
        setup=setup,
        replace=replace,
        bundles=stored.bundles,
        disabled=stored.disabled,
        packs=[_plan_pack(paths, name, content) for name, content in sorted(setup.packs.items())],
        settings=changes,
        prompts=plan_changes(read_map(paths.config / PROMPTS_FILE), setup.prompts),
        rejected=rejected,
    )


async def store_bundles(runtime: Runtime, plan: SetupPlan) -> None:
    """Disable what the setup disables, and store its bundles, disabled.

    Raises:
        BundleError: A bundle cannot be stored. What was stored before stays.
    """
    await runtime.state.bundles.disable_names(*plan.disabled)
    for planned in plan.selected_bundles:
        await runtime.state.transfer.import_archive(planned.content)


async def enable_bundles(runtime: Runtime, plan: SetupPlan) -> None:
    """Enable the bundles that were enabled in the setup, after the rules about their tools are written.

    Raises:
        BundleError: A bundle cannot be enabled.
    """
    for planned in plan.enabled_bundles:
        await runtime.state.bundles.set_bundle_enabled(planned.bundle.id, True)


def write_files(paths: Paths, plan: SetupPlan) -> None:
    """Write the settings, the prompts and the packs, in this order: rules about tools precede the tools.

    Each file is written as a whole or not at all, and only if what exists is what was compared. It blocks.

    Raises:
        SetupChanged: A file changed after it was compared.
        SettingsError: A file cannot be edited.
        TimeoutError: Another process holds the lock.
    """
    for edit, setup, shown in (
        (edit_settings, plan.setup.settings, plan.settings),
        (edit_prompts, plan.setup.prompts, plan.prompts),
    ):
        if select_changes(shown, replace=plan.replace):
            edit(paths, _change(setup, shown, plan))
    for pack in plan.selected_packs:
        write_pack(paths.config / PACKS_DIR / pack.name, pack.content, pack.present)


def write_pack(file: Path, content: bytes, present: bytes | None) -> None:
    """Write a pack file, unless it changed since it was read. It blocks.

    Raises:
        SetupChanged: It is not what was shown.
    """
    if present is None:
        is_same = write_new(file, content)
    elif is_same := file.exists() and file.read_bytes() == present:
        write_atomic(file, content, mode=file.stat().st_mode & 0o777)
    if not is_same:
        raise SetupChanged(f"{file} was changed meanwhile. Run the command again.")


def read_map(file: Path) -> dict[str, Any]:
    """Return the content of a YAML file; empty if there is none.

    Raises:
        SettingsError: The file is invalid.
    """
    try:
        value = parse_yaml(file, file.read_bytes()).value or {}
    except FileNotFoundError:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(f"{file}:1: not a map.")
    return value


def _change(setup: Mapping[str, Any], shown: Sequence[SettingChange], plan: SetupPlan) -> Any:
    def change(file: Path, text: str) -> str:
        current = parse_yaml(file, text.encode()).value or {}
        now = [change for change in plan_changes(current, setup) if change.name not in plan.rejected]
        if now != list(shown):
            raise SetupChanged(f"{file} was changed meanwhile. Run the command again.")
        return apply_changes(file, text, select_changes(shown, replace=plan.replace))

    return change


def _plan_pack(paths: Paths, name: str, content: bytes) -> PlannedPack:
    file = paths.config / PACKS_DIR / name
    present = file.read_bytes() if file.exists() else None
    status: Status = "new" if present is None else "same" if present == content else "changed"
    if file.is_symlink():
        raise InvalidSetup(f"{file} is a link, so it cannot be replaced.")
    return PlannedPack(name=name, status=status, content=content, present=present)
