"""What pytest must not collect here, and a module for its examples."""

import sys

import pytest

collect_ignore = ["conf.py", "check_html.py", "look.py"]
collect_ignore_glob = ["_extensions/*", "_build/*", "auto_examples/*", "generated/*"]


class Names:
    """The names of an example, as a module has them."""

    __spec__ = None  # which processes ask for

    def __init__(self, names):
        self.__dict__ = names


@pytest.fixture(autouse=True)
def main_module(request, monkeypatch):
    """Examples are in the module __main__, where pickle looks for the classes that they define."""
    monkeypatch.setitem(sys.modules, "__main__", Names(request.node.dtest.globs))
