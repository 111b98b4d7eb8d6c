"""Why an agent did what it did: what a model was sent, what was left out, by whom and why."""

__version__ = "0.1.0"
