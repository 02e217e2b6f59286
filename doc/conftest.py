"""What pytest must not collect here: the configuration and everything that Sphinx generates."""

collect_ignore = ["conf.py", "check_html.py", "look.py"]
collect_ignore_glob = ["_extensions/*", "_build/*", "auto_examples/*", "generated/*"]
