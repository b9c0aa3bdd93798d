"""The option `--since` of commands that list what happened."""

import re
import time
from datetime import datetime
from typing import Any

import click

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
"""Seconds of each unit of a duration."""


class Since(click.ParamType[float]):
    """A duration such as `15m`, or a date or time; as seconds since the epoch."""

    name = "duration or time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse the value."""
        if match := re.fullmatch(r"(\d{1,6})([smhd])", str(value)):
            return time.time() - int(match[1]) * UNITS[match[2]]
        try:
            return datetime.fromisoformat(str(value)).astimezone().timestamp()
        except ValueError:
            self.fail(f"{value!r} is neither a duration such as 15m nor a time such as 2026-01-31T12:00.")
