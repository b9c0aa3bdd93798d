"""Print the OpenAPI document of the REST API. `npm run types` generates the TypeScript types from it."""

import asyncio
import json
import sys

from onetool.interfaces.rest.app import create_api
from onetool.testing import memory_runtime


async def main() -> None:
    """Print the document as JSON."""
    async with memory_runtime() as ot:
        json.dump(create_api(ot.runtime).openapi(), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
