"""Clients that change a workspace, and record what was acknowledged."""

from chaos.client import ChaosClient, Reply, verdict_of
from chaos.installation import ChaosInstallation
from chaos.ledger import OK, Change, Exchange, Ledger, RevokedKey, now, shorten
from chaos.users import Steps, User
from onetool.bootstrap.hosted_admin import open_contents
from onetool.domain.errors import OneToolError
from onetool.storage.postgres.clusters import HOME
from support.postgres import WEST
from support.rest_process import http_tool, new_id

RACED = ("409",)
UNUSED = "http://127.0.0.1:1/unused"
"""The URL of tools that are stored and never called."""
MAX_OWN = 50
"""The most things of one kind that a writer creates, so that a long run does not grow without limit."""
MAX_RACES = 200
REVOKED_AFTER_S = 3.0
"""Seconds after which all servers refuse a revoked key, if the database is not away."""


class Writer(User):
    """Changes things of its own, so that the order of their changes is known."""

    def __init__(self, client: ChaosClient) -> None:
        super().__init__(client)
        self.own: dict[str, list[str]] = {"bundle": [], "tool": [], "secret": [], "member": []}
        self.keys: list[tuple[str, str]] = []
        self.patterns: list[str] = []

    def steps(self) -> Steps:
        return (
            self._put_bundle,
            self._put_tool,
            self._delete_tool,
            self._put_secret,
            self._delete_secret,
            self._put_member,
            self._put_grant,
            self._create_key,
            self._revoke_key,
            self._use_revoked,
        )

    def _pick(self, subject: str) -> tuple[str, bool]:
        """Return a thing and whether it is new."""
        own = self.own[subject]
        if len(own) >= MAX_OWN or (own and self.rng.random() < 0.6):
            return self.rng.choice(own), False
        own.append(new_id() if subject == "bundle" else self.new_name())
        return own[-1], True

    async def _put_bundle(self) -> None:
        id, is_new = self._pick("bundle")
        value, action = self.new_name(), "bundle.create" if is_new else "bundle.change"
        body = {"slug": f"s{id[-12:]}", "displayName": value, "description": "", "isEnabled": True}
        reply = await self.client.change("bundle", id, value, action, f"/tools/bundles/{id}", json=body)
        if is_new and reply.outcome != OK:
            self.own["bundle"].remove(id)  # it is unknown whether it exists, and so which action comes next

    async def _put_tool(self) -> None:
        if not self.own["bundle"]:
            return
        if len(self.own["tool"]) >= MAX_OWN:
            await self._delete_tool()
            return
        bundle, slug = self.rng.choice(self.own["bundle"]), self.new_name()
        target, value = f"{bundle}/{slug}/v1", self.new_name()
        self.own["tool"].append(target)
        body = http_tool(UNUSED, description=value)
        await self.client.change("tool", target, value, "tool.add", _tool_path(target), json=body)

    async def _delete_tool(self) -> None:
        if self.own["tool"]:
            target = self.own["tool"].pop(self.rng.randrange(len(self.own["tool"])))
            await self._delete("tool", target, _tool_path(target))

    async def _put_secret(self) -> None:
        name, _ = self._pick("secret")
        name, value = name.upper(), f"{self.new_name()}.test"
        body = {"value": f"secret-{self.client.place.canary}", "hosts": [value], "of": "workspace"}
        await self.client.change("secret", name, value, "secret.put", f"/secrets/{name}", json=body)

    async def _delete_secret(self) -> None:
        if self.own["secret"]:
            name = self.own["secret"].pop().upper()
            await self._delete("secret", name, f"/secrets/{name}?of=workspace")

    async def _delete(self, subject: str, target: str, path: str) -> None:
        action = f"{subject}.delete"
        await self.client.change(subject, target, None, action, path, method="DELETE", expected=("404",))

    async def _put_member(self) -> None:
        name, _ = self._pick("member")
        pattern, member = f"{self.new_name()}.*", f"service/{name}"
        body = {"role": "caller", "patterns": [pattern]}
        path = f"/members/{member}"
        await self.client.change("member", name, pattern, "member.put", path, audited=member, json=body)

    async def _put_grant(self) -> None:
        known = self._acknowledged("member")
        if known:
            if len(self.patterns) < MAX_OWN:
                self.patterns.append(f"{self.new_name()}.*")
            name, pattern = self.rng.choice(sorted(set(known))), self.rng.choice(self.patterns)
            body = {"kind": "service", "member": name, "effect": "deny", "pattern": pattern}
            fields = {"audited": f"service/{name}", "method": "POST", "json": body}
            await self.client.change("grant", f"{name} {pattern}", "deny", "grant.put", "/grants", **fields)

    async def _create_key(self) -> None:
        if len(self.keys) >= MAX_OWN:
            await self._revoke_key()
            return
        reply = await self.client.request("change key", "POST", "/keys", json={"name": self.new_name()})
        self._count("key.create", reply)
        if reply.outcome == OK:
            self.keys.append((reply.body["id"], reply.body["key"]))

    async def _revoke_key(self) -> None:
        if self.keys:
            id, text = self.keys.pop(0)
            reply = await self.client.request("change key", "DELETE", f"/keys/{id}", expected=("404",))
            self._count("key.revoke", reply)
            if reply.outcome == OK:
                self.ledger.revoked.append(RevokedKey(self.client.place.slug, text, now()))

    async def _use_revoked(self) -> None:
        """A key that was revoked a moment ago is refused everywhere, unless the database is away."""
        old = [key for key in self.ledger.revoked if key.place == self.client.place.slug]
        if old and now() - old[-1].at > REVOKED_AFTER_S:
            reply = await self.client.request(
                "revoked key", "GET", "/me", key=old[-1].text, expected=("401",)
            )
            if reply.outcome == OK:
                last = self.ledger.exchanges.pop()
                self.ledger.exchanges.append(last._replace(outcome="accepted", is_expected=False))

    def _count(self, action: str, reply: Reply) -> None:
        self.ledger.keys[self.client.place.slug, action, verdict_of(reply)] += 1

    def _acknowledged(self, subject: str) -> list[str]:
        return [
            change.target
            for change in self.ledger.changes
            if change.subject == subject
            and change.place == self.client.place.slug
            and change.verdict == "acknowledged"
        ]


class Races:
    """Versions of tools that several writers of a workspace try to create."""

    def __init__(self) -> None:
        self.number, self.bundle = 0, ""


class Racer(User):
    """Tries to create the same version of a tool as others."""

    races: Races

    def steps(self) -> Steps:
        return (self._race,)

    async def _race(self) -> None:
        races = self.races
        if not races.bundle:
            id = new_id()
            body = {"slug": "races", "displayName": "R", "description": "", "isEnabled": True}
            path = f"/tools/bundles/{id}"
            reply = await self.client.change(
                "bundle", id, "R", "bundle.create", path, json=body, expected=RACED
            )
            races.bundle = races.bundle or (id if reply.outcome == OK else "")
            return
        if races.number < MAX_RACES and self.rng.random() < 0.4:
            races.number += 1
        target, value = f"{races.bundle}/raced/v{races.number}", self.new_name()
        body = http_tool(UNUSED, description=f"{value} {self.client.place.canary}")
        path = _tool_path(target)
        await self.client.change("version", target, value, "tool.add", path, json=body, expected=RACED)


class SettingsWriter:
    """Replaces the settings of the first workspace, as the operator does."""

    def __init__(self, installation: ChaosInstallation, ledger: Ledger) -> None:
        self.installation, self.ledger = installation, ledger
        self._number = 0

    async def step(self) -> None:
        """Replace the settings."""
        place, urls = self.installation.places[0], self.installation.operator_urls
        others = {WEST: urls[WEST]}
        self._number += 1
        value, started, outcome, detail = f"say{self._number}", now(), OK, ""
        try:
            async with open_contents(urls[HOME], self.installation.keys, place.slug, others) as contents:
                document = place.settings | {"aliases": {value: "tools.echo"}}
                await contents.replace_settings(document, "operator")
        except OneToolError as error:
            outcome, detail = "503", shorten(repr(error))
        verdict = "acknowledged" if outcome == OK else "unknown"
        self.ledger.exchanges.append(
            Exchange(
                "change settings", place.slug, "operator", started, now(), outcome, outcome == OK, detail
            )
        )
        self.ledger.changes.append(
            Change(place.slug, "settings", "settings", value, "settings.replace", "*", verdict)
        )


def _tool_path(target: str) -> str:
    bundle, slug, version = target.split("/")
    return f"/tools/bundles/{bundle}/tools/{slug}/version/{version}"
