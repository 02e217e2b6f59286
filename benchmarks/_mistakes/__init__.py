"""Mistakes of new users, a module for each occasion to make them, and what must be seen of each."""
