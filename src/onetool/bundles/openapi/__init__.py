"""Import of OpenAPI documents as bundles of HTTP tools. Nothing is fetched from the network."""

from .importer import ImportedTool, ImportReport, read_openapi

__all__ = ["ImportReport", "ImportedTool", "read_openapi"]
