"""Distributions: packages without code that choose plugins, their order, their configuration and a policy."""
