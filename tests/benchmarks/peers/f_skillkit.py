"""Workload f: the skill reader of the skills plugin, cold."""

import os

from bench_micro import skills, version
from skillkit_skills import parse


def accept(path):
    with open(path, "rb") as file:
        return parse(file.read(), os.path.basename(os.path.dirname(path)))["status"] != "rejected"


skills(version("skillkit-core"), accept)
