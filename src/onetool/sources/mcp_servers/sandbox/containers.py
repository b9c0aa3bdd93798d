"""Commands that start a server in a container of Docker or Podman."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from .policy import Mechanism, Restrictions, SandboxedCommand, SandboxPolicy
from .secret_places import SecretPlaces, resolve_grants

HOME = "/home/server"


def wrap_in_container(
    runtime: str, image: str, args: Sequence[str], env: Mapping[str, str], policy: SandboxPolicy
) -> SandboxedCommand:
    """Return the command that starts an image with what the policy allows. It blocks: call it on a thread.

    Args:
        runtime: The absolute path of `docker` or `podman`.
        image: The name of the image.
        args: Arguments of the program in the image.
        env: Variables of the server. Their values are not part of the command line.
        policy: What the server may access. The paths have the same names in the container.

    Raises:
        GrantRefused: A path must not be granted.
    """
    policy.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    home = policy.home.resolve()
    places = SecretPlaces(policy.secret_places)
    grants = resolve_grants(policy.paths, home, places)
    volumes = [_volume(home, HOME, True), *(_volume(g.path, str(g.path), g.write) for g in grants)]
    covers = [str(place) for grant in grants for place in places.inside(grant.path) if place.exists()]
    options = [
        *("run", "-i", "--rm", "--init", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only"),
        *("--tmpfs", "/tmp", "--network", "bridge" if policy.network else "none"),  # noqa: S108
        *(word for volume in volumes for word in ("-v", volume)),
        *(word for place in covers for word in ("--tmpfs", f"{place}:ro")),
        *(word for name in sorted(env) for word in ("-e", name)),
        *("-e", f"HOME={HOME}", "-w", _start_directory(policy.cwd.resolve(), [g.path for g in grants])),
    ]
    restrictions = Restrictions(
        mechanism=Mechanism.CONTAINER, files=True, network=not policy.network, processes=True
    )
    return SandboxedCommand(
        argv=(runtime, *options, image, *args), env=dict(env), cwd=home, restrictions=restrictions
    )


def _volume(source: Path, target: str, write: bool) -> str:
    return f"{source}:{target}" if write else f"{source}:{target}:ro"


def _start_directory(cwd: Path, granted: Sequence[Path]) -> str:
    return str(cwd) if any(cwd.is_relative_to(path) for path in granted) else HOME
