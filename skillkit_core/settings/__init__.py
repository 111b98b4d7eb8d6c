"""The configuration: files, environment and flags in layers, every value with its origin."""
