"""SkillKit's core: an extension host for LLM agents and skills that knows no vendor."""
