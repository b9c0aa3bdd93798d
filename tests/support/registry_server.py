"""`onetool serve` with a registry on this machine."""

import os
from pathlib import Path
from typing import Any

import yaml

from onetool.files.atomic import write_atomic
from support.registry_stub import RegistryStub, write_npx
from support.rest_process import RestProcess, new_id, write_private


class RegistryServer(RestProcess):
    """OneTool with a registry on this machine, and what its user sees of its files."""

    def __init__(self, root: Path, stub: RegistryStub) -> None:
        self.stub = stub
        write_npx(root / "bin")
        path = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        settings = f"# mine\nregistry: {{base_url: '{stub.url}'}}\n"
        super().__init__(root, settings=settings, probes=False, PATH=path, **stub.indexes)
        write_private(self.config / "secrets.yaml", "MINE: mine-1234567890\n")

    @property
    def settings(self) -> dict[str, Any]:
        """The servers in the settings."""
        return yaml.safe_load(self.read_settings()).get("servers") or {}

    @property
    def secrets(self) -> dict[str, Any]:
        return yaml.safe_load((self.config / "secrets.yaml").read_text())

    @property
    def has_started_a_server(self) -> bool:
        return (self.root / "bin" / "started").exists()

    @property
    def log(self) -> str:
        """Everything that the process has written to its log and to stderr."""
        file = self.root / "state" / "onetool.jsonl"
        return (file.read_text() if file.exists() else "") + self.errors.read_text()

    def read_settings(self) -> str:
        return (self.config / "onetool.yaml").read_text()

    def edit_settings(self, text: str) -> None:
        """Write the settings as a command does: it signals a reload."""
        write_private(self.config / "onetool.yaml", text)
        write_atomic(self.root / "state" / "reloaded", b"")

    def plan(self, name: str, status: int = 200, **body: Any) -> Any:
        response = self.client.post("/registry/plan", json={"name": name, **body})
        assert response.status_code == status, response.text
        return response.json()

    def install(self, name: str, **body: Any) -> tuple[str, Any]:
        """Review and install a server under a new name. Return the name and the plan."""
        body = {"as": new_server_name()} | body
        plan = self.plan(name, **body)
        assert plan["isComplete"], plan
        response = self.client.post(
            "/registry/install", json={"name": name, "planDigest": plan["planDigest"], **body}
        )
        assert (response.status_code, response.json()) == (201, {"name": body["as"]})
        return body["as"], plan

    def find_update(self, name: str, status: int = 200) -> Any:
        response = self.client.get(f"/servers/{name}/update")
        assert response.status_code == status, response.text
        return response.json()


def new_server_name() -> str:
    """Return a name that no other server has."""
    return f"s{new_id()[-12:]}"
