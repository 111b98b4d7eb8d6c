"""The plugin."""
