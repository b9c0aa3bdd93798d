"""`/providers`: which chat models there are, and whether they have a key."""

import os
from typing import Any

from fastapi import APIRouter

from onetool.runtime import Runtime
from onetool.settings.providers import set_up

from .problems import documented
from .queries import reply
from .screen_shapes import ProviderList


def provider_routes(runtime: Runtime) -> APIRouter:
    """Make the routes of chat models."""
    routes = APIRouter(tags=["chat"])

    @routes.get("/providers", response_model=ProviderList, responses=documented())
    async def list_providers() -> Any:
        """List the chat models, and where the key of each comes from; never the key."""
        await runtime.follow()
        known = [
            {"name": one.name, "model": one.model, "key": one.place}
            for one in set_up(runtime.configuration, os.environ)
        ]
        default = runtime.chat_models.default()
        return reply(runtime.masked({"providers": known, "default": default}))

    return routes
