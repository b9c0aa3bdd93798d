"""Hostile traffic: calls to an upstream that misbehaves, and a workspace that attacks others."""

import asyncio

from chaos.client import ChaosClient
from chaos.installation import ChaosInstallation, Place
from chaos.ledger import OK
from chaos.traffic import Workload
from chaos.upstreams import HOSTILE
from support.rest_process import http_tool, new_id

CALLERS = 4
FLOODERS = 12
DEPTH = 20_000
ANY_CALL_ERROR = tuple(
    f"call:{reason}"
    for reason in (
        "upstream",
        "timeout",
        "too_large_out",
        "bad_output",
        "busy",
        "disabled",
        "unknown",
        "rate_limited",
        "host_not_allowed",
    )
)
REFUSALS = (
    "400",
    "401",
    "403",
    "404",
    "409",
    "413",
    "422",
    "429",
    "call:busy",
    "call:unknown",
    "call:rate_limited",
    "call:bad_args",
    "call:not_registered",
    "call:too_large_in",
    "run:error",
)


async def create_hostile_tools(installation: ChaosInstallation, workload: Workload) -> str:
    """Store tools of the hostile upstream in one workspace. Return their pack; empty if that failed."""
    client, bundle = workload.client(installation.places[1], "hostile tools"), new_id()
    pack = f"h{bundle[-12:]}"
    body = {"slug": pack, "displayName": "H", "description": "", "isEnabled": True}
    path, expected = f"/tools/bundles/{bundle}", ("503", "broken")
    reply = await client.request("hostile upstream", "PUT", path, json=body, expected=expected)
    for behaviour in HOSTILE:
        tool = http_tool(f"{installation.upstream.url}/hostile/{behaviour}")
        url = f"{path}/tools/{behaviour}/version/v1"
        await client.request("hostile upstream", "PUT", url, json=tool, expected=(*expected, "404"))
    return pack if reply.outcome == OK else ""


async def attack_from_upstream(installation: ChaosInstallation, workload: Workload, pack: str) -> None:
    """Call tools of the hostile upstream."""
    client = workload.client(installation.places[1], "hostile upstream")
    await asyncio.gather(*(_call_hostile(client, pack) for _ in range(CALLERS)))


async def _call_hostile(client: ChaosClient, pack: str) -> None:
    while True:
        name = client.rng.choice([*(f"{pack}.{behaviour}" for behaviour in HOSTILE), "bad.note"])
        call = {"name": name, "args": {"id": "x"} if name == "bad.note" else {}}
        await client.request(
            "hostile upstream",
            "POST",
            "/tools/call",
            json=call,
            expected=(*ANY_CALL_ERROR, "call:unavailable"),
        )


async def attack_from_tenant(installation: ChaosInstallation, workload: Workload) -> None:
    """Flood the servers, send bodies that are too large or too deep, and request data of other workspaces."""
    place = installation.places[-1]
    client = workload.client(place, "hostile tenant")
    await asyncio.gather(*(_attack(client, installation.places[:-1]) for _ in range(FLOODERS)))


async def _attack(client: ChaosClient, others: list[Place]) -> None:
    while True:
        match client.rng.randrange(6):
            case 0:
                await _flood(client)
            case 1:
                await _send(client, "POST", "/run", json={"command": "x = 1\n" * 20_000 + "while True: pass"})
            case 2:
                deep = (
                    b'{"name": "tools.echo", "args": ' + b'{"message": ' * DEPTH + b"1" + b"}" * DEPTH + b"}"
                )
                await _send(
                    client, "POST", "/tools/call", content=deep, headers={"Content-Type": "application/json"}
                )
            case 3:
                await _send(client, "POST", "/keys", json={"name": "many"})
            case 4:
                await _ask_for_others(client, client.rng.choice(others))
            case _:
                await _send(client, "GET", "/tools/tools/search", params={"q": "x " * 2_000})


async def _flood(client: ChaosClient) -> None:
    call = {"name": "tools.echo", "args": {"message": "x" * 1_000}}
    await asyncio.gather(*(_send(client, "POST", "/tools/call", json=call) for _ in range(5)))


async def _ask_for_others(client: ChaosClient, other: Place) -> None:
    changes = [change for change in client.ledger.changes[-200:] if change.place == other.slug]
    jobs = [id for job in client.ledger.jobs[-50:] if job.place == other.slug for id in job.ids]
    for job in jobs[:1]:
        await _send(client, "GET", f"/jobs/{job}")
    for change in [change for change in changes if change.subject == "bundle"][:1]:
        await _send(client, "GET", "/tools/bundles", params={"bundleIDs": change.target})
        await _send(client, "GET", f"/tools/bundles/{change.target}/export")
    await _send(client, "GET", f"//w/{other.slug}/tools/tools")
    await _send(client, "GET", f"//w/{other.slug}/audit")


async def _send(client: ChaosClient, method: str, path: str, **options: object) -> None:
    verdict = "unknown"  # also if the attack ends before the reply arrives
    try:
        reply = await client.request("hostile tenant", method, path, expected=REFUSALS, **options)  # type: ignore[arg-type]
        verdict = "acknowledged" if reply.outcome == OK else "unknown"
    finally:
        if path == "/keys":
            client.ledger.keys[client.place.slug, "key.create", verdict] += 1
