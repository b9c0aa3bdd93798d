"""Prints the OpenAPI document of the REST door, from which the screens' types are made."""

import asyncio
import json
import sys

from onetool.doors.rest.app import create_api
from onetool.testing import memory_runtime


async def main() -> None:
    """Print it as JSON."""
    async with memory_runtime() as ot:
        json.dump(create_api(ot.runtime).openapi(), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
