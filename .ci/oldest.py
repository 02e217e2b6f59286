"""Print the lower bounds of setup.cfg as pip constraints: the oldest versions it admits."""

import configparser
import re
from pathlib import Path

config = configparser.ConfigParser()
config.read(Path(__file__).parent.parent / "setup.cfg")
requirements = [config["options"]["install_requires"], *config["options.extras_require"].values()]
for requirement in "\n".join(requirements).split("\n"):
    if re.search("[>~]=", requirement):
        print(re.sub("[>~]=", "==", requirement.strip()))
