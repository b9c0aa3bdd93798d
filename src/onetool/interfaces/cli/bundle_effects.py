"""What the tools of a bundle would do, for its review before it is enabled."""

from collections.abc import Iterator, Sequence

from onetool.domain.bundles.bundle import Bundle, ToolVersion
from onetool.domain.http.templates import requests_of, secret_names, split_template
from onetool.settings.trust_effects import HOSTS, PROGRAMS, TrustEffect


def bundle_effects(bundle: Bundle, tools: Sequence[ToolVersion]) -> Iterator[TrustEffect]:
    """Yield the programs of its code tools, and the hosts that its HTTP tools reach with their secrets."""
    for tool in tools:
        if tool.code_impl is not None:
            program = str(tool.code_impl.get("program", ""))
            name = f"{bundle.slug}.{tool.slug} {tool.version}"
            yield TrustEffect(PROGRAMS, f"{name} (program of a tool): {program}")
    hosts: dict[str, set[str]] = {}
    for tool in tools:
        if tool.http_impl is not None:
            names = secret_names(tool.http_impl, tool.arg_schema)
            for request in requests_of(tool.http_impl):
                hosts.setdefault(split_template(request["urlTemplate"])[1], set()).update(names)
    for host, sent in sorted(hosts.items()):
        secrets = f", receives your secrets {', '.join(sorted(sent))}" if sent else ""
        yield TrustEffect(HOSTS, f"{host} (bundle {bundle.slug}{secrets})")
