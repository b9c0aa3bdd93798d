"""Stored tools that send HTTP requests."""

from .http_tool import HttpTool
from .retry import Pace
from .tokens import Tokens

__all__ = ["HttpTool", "Pace", "Tokens"]
