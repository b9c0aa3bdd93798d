"""`python -m onetool` is the console script."""

import sys

if not sys.flags.safe_path:
    sys.path.pop(0)  # the working directory: a file there must not stand in for a module that we import

from onetool.doors.cli.main import main

if __name__ == "__main__":
    main()
