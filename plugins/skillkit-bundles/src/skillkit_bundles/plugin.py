"""The plugin ``bundles``."""
