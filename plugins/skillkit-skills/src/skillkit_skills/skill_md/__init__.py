"""The format: what a SKILL.md and the files beside it say, made into a :class:`~skillkit_core.skills.Skill` with its problems."""
