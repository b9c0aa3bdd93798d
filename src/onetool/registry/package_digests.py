"""Digests of the files of a package version, as its package index publishes them."""

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from onetool.domain.servers.registry_launch import ServerLaunch
from onetool.network.limited_request import HttpReply, RequestFailed, get_limited
from onetool.network.package_index import MAX_PAGE_BYTES, index_urls, page_links

NPM, NPM_VARIABLES = "https://registry.npmjs.org", ("npm_config_registry", "NPM_CONFIG_REGISTRY")
INTEGRITY = re.compile(r"sha(?:256|384|512)-[A-Za-z0-9+/]{40,}={0,2}")
SHA256 = re.compile(r"sha256=([0-9a-f]{64})")
TIMEOUT_S = 30.0
OK, NOT_FOUND = 200, 404


class DigestUnavailable(Exception):
    """The package index gives no digest. The message does not end with a full stop."""


class PackageMismatch(Exception):
    """The package index has no such version, or not the file that the registry names."""


def package_digests(launch: ServerLaunch, env: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of a package by file name.

    Raises:
        DigestUnavailable: The index cannot be reached or has no digests, or the package has no index.
        PackageMismatch: The version does not exist, or its file has not the hash of the registry.
    """
    if launch.kind == "npm":
        digests = _npm_digests(launch, env)
    elif launch.kind == "pypi":
        digests = _pypi_digests(launch, env)
    else:
        raise DigestUnavailable("not published for this kind")
    if launch.sha256 and f"sha256:{launch.sha256}" not in digests.values():
        raise PackageMismatch(
            f"No file of {launch.identifier} {launch.version} has the hash of the registry."
        )
    return digests


def _npm_digests(launch: ServerLaunch, env: Mapping[str, str]) -> dict[str, str]:
    index = next((env[name] for name in NPM_VARIABLES if env.get(name)), NPM).rstrip("/")
    reply = _get(f"{index}/{quote(launch.identifier, safe='@')}/{quote(launch.version)}", "application/json")
    if reply.status == NOT_FOUND:
        raise PackageMismatch(f"npm has no {launch.identifier} {launch.version}.")
    try:
        integrity = json.loads(reply.content)["dist"]["integrity"]
    except (ValueError, LookupError, TypeError, RecursionError):
        integrity = None
    if reply.status != OK or not isinstance(integrity, str) or not INTEGRITY.fullmatch(integrity):
        raise DigestUnavailable(f"the npm registry published none (status {reply.status})")
    return {f"{launch.identifier}@{launch.version}": integrity}


def _pypi_digests(launch: ServerLaunch, env: Mapping[str, str]) -> dict[str, str]:
    from packaging.utils import canonicalize_name

    problem = "no HTTP index configured"
    for index in index_urls(env):
        try:
            reply = _get(f"{index}/{canonicalize_name(launch.identifier)}/", "text/html")
        except DigestUnavailable as error:
            problem = str(error)
            continue
        problem = f"status {reply.status}"
        if reply.status == OK and (digests := _version_digests(reply.content, launch.version)):
            return digests
        if reply.status in (OK, NOT_FOUND):
            problem = ""
    if problem:
        raise DigestUnavailable(problem)
    raise PackageMismatch(f"The package index has no {launch.identifier} {launch.version} with a digest.")


def _version_digests(page: bytes, version: str) -> dict[str, str]:
    digests = {}
    for link in page_links(page.decode("utf-8", "replace")):
        path, _, fragment = link.partition("#")
        name, digest = path.partition("?")[0].rpartition("/")[2], SHA256.search(fragment)
        if digest and _has_version(name, version):
            digests[name] = f"sha256:{digest[1]}"
    return digests


def _has_version(file_name: str, version: str) -> bool:
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        parse_sdist_filename,
        parse_wheel_filename,
    )
    from packaging.version import InvalidVersion, Version

    try:
        if file_name.endswith(".whl"):
            return parse_wheel_filename(file_name)[1] == Version(version)
        return parse_sdist_filename(file_name)[1] == Version(version)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return False


def _get(url: str, accept: str) -> HttpReply:
    try:
        return get_limited(url, accept=accept, max_bytes=MAX_PAGE_BYTES, timeout_s=TIMEOUT_S)
    except RequestFailed as error:
        raise DigestUnavailable(str(error)) from None
