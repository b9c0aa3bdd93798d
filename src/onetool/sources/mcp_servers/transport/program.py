"""The program of a stdio server: its command, its environment and its sandbox."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onetool.files.atomic import make_private_dir
from onetool.sources.mcp_servers.errors import ServerUnavailable
from onetool.sources.mcp_servers.sandbox.containers import wrap_in_container
from onetool.sources.mcp_servers.sandbox.mechanisms import choose_mechanism
from onetool.sources.mcp_servers.sandbox.policy import SandboxedCommand, SandboxPolicy
from onetool.sources.mcp_servers.sandbox.wrapping import wrap, wrap_without_sandbox

from .environment import program_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProgram:
    """A program to start."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    policy: SandboxPolicy
    """Its own directory, its working directory, and what it may access."""
    is_restricted: bool = True
    """Whether it runs in a sandbox."""
    image: str = ""
    """The image of a container to run instead, if the command is Docker or Podman."""

    @property
    def digest(self) -> str:
        """A hash of everything that the program depends on."""
        env = json.dumps(sorted(self.env.items()))
        parts = json.dumps([self.command, self.args, env, repr(self.policy), self.is_restricted, self.image])
        return hashlib.sha256(parts.encode()).hexdigest()

    def environment(self) -> dict[str, str]:
        """Return the variables of the program. Without a sandbox, its home is the one of the user."""
        home = self.policy.home if self.is_restricted else None
        return program_environment(os.environ, self.env, home)

    def find(self, path: str | None) -> str:
        """Return the absolute path of the program, found on PATH.

        Raises:
            ServerUnavailable: The command or the working directory does not exist.
        """
        make_private_dir(self.policy.home)
        if not self.policy.cwd.is_dir():
            raise ServerUnavailable(f"its working directory {str(self.policy.cwd)!r} does not exist")
        return _find_program(self.command, path, self.policy.cwd)

    def wrap(self, program: str, env: Mapping[str, str]) -> SandboxedCommand:
        """Return the command that starts the program with its restrictions. Call it on a thread.

        Raises:
            ServerUnavailable: A path must not be granted.
        """
        if self.image:
            return wrap_in_container(program, self.image, self.args, env, self.policy)
        argv = [program, *self.args]
        if self.is_restricted:
            return wrap(argv, env, self.policy, choose_mechanism())
        return wrap_without_sandbox(argv, env, self.policy.cwd)


def _find_program(command: str, path: str | None, cwd: Path) -> str:
    is_name = Path(command).name == command
    program = shutil.which(command if is_name else cwd / command, path=path)
    if program is None:
        hint = "use an absolute path or a command on PATH"
        raise ServerUnavailable(f"command {command!r} not found; {hint}")
    return str(Path(program).absolute())
