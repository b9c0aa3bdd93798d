"""OpenAPI documents become bundles of HTTP tools; nothing is ever fetched."""

from .importer import Imported, ImportedTool, read_openapi

__all__ = ["Imported", "ImportedTool", "read_openapi"]
