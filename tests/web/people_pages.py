"""What browser tests with people share: a provider recognizes them, and they are invited."""

import json
from typing import Any
from uuid import uuid4

from playwright.async_api import Browser, Page

from support.hosted_process import HostedProcess
from support.web_app import open_page


async def open_as(browser: Browser, workspace: HostedProcess, name: str, **options: Any) -> Page:
    """Open a page for a new person, whom the provider recognizes."""
    page = await open_page(browser, workspace, logged_in=False, **options)
    person = {"sub": f"sub-{uuid4().hex}", "email": f"{name.lower()}@example.com", "name": name}
    await page.context.set_extra_http_headers({"X-Person": json.dumps(person)})
    return page


def errors_of(page: Page, *others: str) -> list[str]:
    """Return what went wrong on a page, without requests to other servers that belong to the test."""
    errors: list[str] = page.errors  # type: ignore[attr-defined]
    return [error for error in errors if not any(f": {other}/" in error for other in others)]


async def log_in(page: Page) -> None:
    """Log in at the provider."""
    await page.get_by_role("link", name="Log in with your account").click()


async def member_id(page: Page) -> str:
    """Return the id of the person who has logged in."""
    session = await page.evaluate("fetch('/auth/session').then(response => response.json())")
    return str(session["person"]["id"])


def invite(workspace: HostedProcess, **fields: Any) -> tuple[str, str]:
    """Return the id and the link of a new invitation."""
    created = workspace.client.post("/invitations", json=fields).json()
    return created["id"], f"{workspace.url}/join#{created['secret']}"


def add_person(workspace: HostedProcess, id: str, role: str = "caller") -> None:
    """Make a person a member."""
    assert workspace.client.put(f"/members/person/{id}", json={"role": role}).status_code == 200
