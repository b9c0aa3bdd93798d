"""`/providers`: list the providers of chat models."""

from typing import Any

from fastapi import APIRouter

from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.providers import ProviderList
from onetool.runtime.runtime import Runtime
from onetool.settings.provider_status import provider_statuses


def provider_routes(runtime: Runtime) -> APIRouter:
    """Create the provider routes."""
    routes = APIRouter(tags=["chat"])

    @routes.get("/providers", response_model=ProviderList, responses=problem_responses())
    async def list_providers() -> Any:
        """List the providers of chat models and the locations of their keys."""
        await runtime.reload_if_changed()
        providers = [
            {"name": status.name, "model": status.model, "key": status.key_location}
            for status in provider_statuses(
                runtime.state.configuration, runtime.state.configuration.environment
            )
        ]
        default = runtime.state.chat_models.default()
        return json_response(runtime.state.redactor.mask({"providers": providers, "default": default}))

    return routes
