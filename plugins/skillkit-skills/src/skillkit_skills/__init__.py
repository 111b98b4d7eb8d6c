"""Skills for SkillKit: SKILL.md folders as values, as a catalogue for models, and as deterministic actions."""
