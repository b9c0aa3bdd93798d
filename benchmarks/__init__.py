"""Ratios against the bare engines, measured side by side in one run."""
