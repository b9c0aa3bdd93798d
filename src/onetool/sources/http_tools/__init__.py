"""Tools that send HTTP requests."""

from .runner import HttpToolRunner
from .token_cache import TokenCache

__all__ = ["HttpToolRunner", "TokenCache"]
