"""One request, one answer: the ``run`` command of SkillKit."""
