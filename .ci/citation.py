"""Write into CITATION.cff what is told elsewhere: the version, its date, and the addresses.

The version is that of the package, the date that of its section in CHANGELOG.md, and addresses are
those of ``project_urls`` in setup.cfg. What is not known yet is left out.
"""

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
URLS = {"Documentation": "url", "Source": "repository-code"}


def update(citation, package, changelog, config):
    """Return the text of CITATION.cff with the values of the other three."""
    version = re.search(r'^__version__ = "(.+)"$', package, re.M)[1]
    date = re.search(rf"^## {re.escape(version)} \((\d{{4}}-\d\d-\d\d)\)$", changelog, re.M)
    parser = configparser.ConfigParser()
    parser.read_string(config)
    lines = parser["metadata"].get("project_urls", "").strip().split("\n")
    urls = dict(re.split(r"\s*=\s*", line, maxsplit=1) for line in lines if line)
    values = {"version": version, "date-released": date and date[1]}
    values |= {key: urls.get(name) for name, key in URLS.items()}
    kept = re.sub(rf"^({'|'.join(values)}): .*\n", "", citation, flags=re.M)
    told = "".join(f"{key}: {value}\n" for key, value in values.items() if value)
    return re.sub(r"^(license: .*\n)", lambda found: found[1] + told, kept, flags=re.M)


def main():
    names = "CITATION.cff", "sklearn_shag/__init__.py", "CHANGELOG.md", "setup.cfg"
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    (ROOT / names[0]).write_text(update(*texts), encoding="utf-8")


if __name__ == "__main__":
    main()
