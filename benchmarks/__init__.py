"""Benchmarks of OneTool compared with the engines it builds on, interleaved in one run."""
