"""Print the OpenAPI document of the REST API. `npm run types` generates the TypeScript types from it.

It is that of hosted mode, which has all routes.
"""

import json
import sys
from contextlib import closing

from onetool.interfaces.rest.current_workspace import create_hosted_api
from onetool.threads import Threads


def main() -> None:
    """Print the document as JSON."""
    with closing(Threads()) as threads:
        json.dump(create_hosted_api(threads).openapi(), sys.stdout)


if __name__ == "__main__":
    main()
