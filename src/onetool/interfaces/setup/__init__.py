"""Import of files that others share, and setups: what a user configured, as one archive without secrets."""
