"""The version of OneTool."""

__version__ = "0.1.0"
