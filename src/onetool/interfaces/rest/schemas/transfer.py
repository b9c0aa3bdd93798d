"""Schemas of import and export."""

from pydantic import BaseModel, Field

from .bundles import BundleResponse


class ImportResponse(BaseModel):
    """An imported bundle, which is disabled."""

    bundle: BundleResponse
    tools: int = Field(description="Number of imported tools.")
    skipped: list[str] = Field(default_factory=list, description="Skipped operations, with the reason.")
    secrets: list[str] = Field(default_factory=list, description="Names of secrets to add to secrets.yaml.")
    warnings: list[str] = Field(
        default_factory=list, description="Warnings to review before you enable the bundle."
    )
    hosts: list[str] = Field(default_factory=list, description="Hosts to add to allowedHosts.")
    renamed: dict[str, str] = Field(
        default_factory=dict,
        description="Operations whose operationId is not the name of their function, with that name.",
    )
