"""What skillkit-skills brings to a host; everything heavy is named by import strings."""

from __future__ import annotations

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection


@hookimpl
def register_config(register):
    register(ConfigSection("skills", "skillkit_skills.config:SkillsConfig"))
