"""Small parts of a state, each made of settings."""

from importlib.util import find_spec
from pathlib import Path

from uuid_utils import uuid7

from onetool.catalog.catalog import Catalog
from onetool.domain.bundle import ToolVersion
from onetool.domain.registry import Registry
from onetool.domain.sandbox import SandboxLimits
from onetool.domain.tool import Runner
from onetool.network.client import HttpClients
from onetool.pipeline.approval import Approval
from onetool.pipeline.pipeline import Limits, Pipeline
from onetool.pipeline.record import Recorder
from onetool.ports import RateLimiter
from onetool.runtime import Runtime
from onetool.settings.configuration import Configuration
from onetool.sources.bundle_tools import MakeRunner

SERVICES = "ot"
"""The pack whose functions are services of OneTool itself: what `internal` handlers name."""


def http_runner(configuration: Configuration, http: HttpClients) -> MakeRunner:
    """How a stored HTTP tool runs with these settings; its tokens are forgotten with them."""
    from onetool.sources.http_tools import HttpTool, Tokens

    settings, secrets = configuration.settings, configuration.secrets
    tokens = Tokens()

    def make(tool: ToolVersion) -> Runner:
        return HttpTool(
            tool.http_impl or {},
            arg_schema=tool.arg_schema,
            limits=tool.limits or {},
            secrets=secrets,
            http=http,
            allowed_hosts=settings.allowedHosts,
            tokens=tokens,
        ).run

    return make


def handlers(shipped: Registry) -> dict[str, set[str]]:
    """What a config tool may name as its handler, by kind."""
    names = {tool.spec.name for tool in shipped}
    services = {tool.spec.name for tool in shipped if tool.spec.pack == SERVICES}
    return {"builtin": names - services, "internal": services}


def make_pipeline(
    configuration: Configuration, catalog: Catalog, recorder: Recorder, rates: RateLimiter, runtime: Runtime
) -> Pipeline:
    """The corridor that every call walks."""
    settings = configuration.settings
    return Pipeline(
        catalog,
        recorder,
        runtime.enter,
        limits=Limits(
            timeout=settings.execution.timeout_s,
            max_concurrent=settings.execution.max_concurrent,
            max_args_bytes=settings.execution.max_args_bytes,
            max_output_bytes=settings.output.max_bytes,
        ),
        rates=rates,
        approval=Approval(settings.approval.allow, settings.approval.deny),
        redactor=configuration.secrets.redactor,
        threads=runtime.threads,
    )


def sandbox_limits(configuration: Configuration) -> SandboxLimits:
    """What code that a model wrote may use."""
    execution = configuration.settings.execution
    return SandboxLimits(
        cpu_s=execution.run_cpu_s,
        memory_bytes=execution.run_memory_bytes,
        calls=execution.run_max_calls,
        sleep_s=execution.run_timeout_s,
    )


def new_id() -> str:
    """A new UUIDv7."""
    return str(uuid7())


def directory_of(package: str) -> Path:
    """Where a package of ours lies.

    Raises ModuleNotFoundError.
    """
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is missing: OneTool is not installed completely.")
    return Path(found.submodule_search_locations[0])
