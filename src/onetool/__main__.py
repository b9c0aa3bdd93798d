"""Entry point of `python -m onetool`; same as the `onetool` command."""

import sys

if not sys.flags.safe_path:
    sys.path.pop(0)  # the working directory: its files must not shadow the modules imported below

from onetool.interfaces.cli.main import main

if __name__ == "__main__":
    main()
