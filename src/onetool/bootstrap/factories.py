"""Factories for parts of a state."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path

from uuid_utils import uuid7

from onetool.catalog.catalog import Catalog
from onetool.domain.bundles.bundle import ToolVersion
from onetool.domain.calls.effect import Effect
from onetool.domain.code.sandbox import SandboxLimits
from onetool.domain.identity.member_pages import NO_PAGES, MemberPages
from onetool.domain.policy.approval_rules import ApprovalRules
from onetool.domain.policy.name_filter import NameFilter
from onetool.domain.policy.policy import Policy
from onetool.domain.policy.profile import Profile
from onetool.domain.policy.rights import MemberRights
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Runner
from onetool.network.client import HttpClients
from onetool.pipeline.admission import Admission
from onetool.pipeline.approval import Approver
from onetool.pipeline.pipeline import CallLimits, Pipeline
from onetool.pipeline.recorder import Recorder
from onetool.ports import OwnSecrets
from onetool.runtime.active_call import activate_call
from onetool.runtime.code_tools import CodeToolRunner
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration
from onetool.settings.schema import Settings
from onetool.sources.bundle_tools import MakeRunner
from onetool.sources.http_tools import HttpToolRunner, TokenCache

SERVICES = "ot"
"""The pack whose functions are OneTool's own services, which `internal` handlers refer to."""


def http_runner(
    configuration: Configuration, http: HttpClients, tokens: TokenCache, pages: MemberPages = NO_PAGES
) -> MakeRunner:
    """Return the factory of runners for stored HTTP tools. They share one cache of access tokens.

    pages: where members write their secrets.
    """
    settings, secrets = configuration.settings, configuration.secrets

    def make(tool: ToolVersion) -> Runner:
        return HttpToolRunner(
            tool.http_impl or {},
            arg_schema=tool.arg_schema,
            limits=tool.limits or {},
            secrets=secrets,
            http=http,
            allowed_hosts=settings.allowedHosts,
            tokens=tokens,
            secrets_page=pages.secrets,
            is_hosted=configuration.limits is not None,
        ).run

    return make


def stored_runner(runtime: Runtime, make_http: MakeRunner) -> MakeRunner:
    """Return the factory of runners for stored tools: of HTTP requests or of code."""

    def make(tool: ToolVersion) -> Runner:
        if tool.code_impl is None:
            return make_http(tool)
        return CodeToolRunner(runtime, str(tool.code_impl.get("program", "")), tool.arg_schema).run

    return make


def handlers(built_in: Registry) -> dict[str, set[str]]:
    """Return the tool names that a configured tool can use as its handler, by kind of handler."""
    names = {tool.spec.name for tool in built_in}
    services = {tool.spec.name for tool in built_in if tool.spec.pack == SERVICES}
    return {"builtin": names - services, "internal": services}


def make_pipeline(
    configuration: Configuration,
    catalog: Catalog,
    recorder: Recorder,
    admission: Admission,
    runtime: Runtime,
    *,
    credentials: CredentialSet,
    own_secrets: OwnSecrets | None = None,
) -> Pipeline:
    """Return the pipeline for these settings."""
    settings = configuration.settings
    return Pipeline(
        catalog,
        recorder,
        partial(activate_call, runtime),
        limits=CallLimits(
            timeout=settings.execution.timeout_s,
            max_args_bytes=settings.execution.max_args_bytes,
            max_output_bytes=settings.output.max_bytes,
        ),
        admission=admission,
        approver=Approver(runtime.threads, settings.approval.timeout_s),
        credentials=credentials,
        own_secrets=own_secrets,
        threads=runtime.threads,
    )


def make_policy(settings: Settings, members: MemberRights | None = None) -> Policy:
    """Return the policy of these settings.

    members: the rights of the members of a workspace. None: there is one user.
    """
    approval = settings.approval
    profiles = {
        name: Profile(
            name,
            packs=profile.packs,
            servers=profile.servers,
            exclude=profile.exclude,
            approval=ApprovalRules(
                f"profiles.{name}.approval", profile.approval.allow, profile.approval.deny
            ),
            mode=Effect[profile.approval.mode.upper()],
        )
        for name, profile in settings.profiles.items()
    }
    servers = {name: NameFilter(server.include, server.exclude) for name, server in settings.servers.items()}
    return Policy(ApprovalRules("approval", approval.allow, approval.deny), profiles, servers, members)


def sandbox_limits(configuration: Configuration) -> SandboxLimits:
    """Return the limits of code that runs in the sandbox."""
    execution = configuration.settings.execution
    return SandboxLimits(
        cpu_s=execution.run_cpu_s,
        memory_bytes=execution.run_memory_bytes,
        calls=execution.run_max_calls,
        sleep_s=execution.run_timeout_s,
    )


def new_id() -> str:
    """Return a new UUIDv7."""
    return str(uuid7())


def package_directory(package: str) -> Path:
    """Return the directory of a package of OneTool.

    Raises:
        ModuleNotFoundError: The package is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"Package {package!r} is missing. Reinstall OneTool.")
    return Path(spec.submodule_search_locations[0])
