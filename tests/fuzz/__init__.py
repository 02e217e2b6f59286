"""Inputs made by chance, many of them: `python -m tests.fuzz --help`."""
