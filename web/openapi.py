"""Print the OpenAPI document of the REST API. `npm run types` generates the TypeScript types from it.

It has the routes of a server for one user and those of hosted mode.
"""

import asyncio
import json
import sys
from contextlib import closing
from typing import Any

from onetool.interfaces.rest.app import create_api
from onetool.interfaces.rest.current_workspace import create_hosted_api
from onetool.testing import memory_runtime
from onetool.threads import Threads


async def local_document() -> dict[str, Any]:
    """Return the document of a server for one user."""
    async with memory_runtime() as ot:
        return create_api(ot.runtime).openapi()


def main() -> None:
    """Print the document as JSON."""
    local = asyncio.run(local_document())
    with closing(Threads()) as threads:
        document = create_hosted_api(threads).openapi()
    document["paths"] = local["paths"] | document["paths"]
    schemas = local["components"]["schemas"] | document["components"]["schemas"]
    document["components"]["schemas"] = schemas
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main()
