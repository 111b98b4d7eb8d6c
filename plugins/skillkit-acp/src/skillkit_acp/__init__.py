"""SkillKit in editors: the Agent Client Protocol on stdio."""

__version__ = "0.2.0"
