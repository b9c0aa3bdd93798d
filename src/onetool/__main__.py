"""`python -m onetool` is the console script."""

from onetool.doors.cli.main import main

if __name__ == "__main__":
    main()
