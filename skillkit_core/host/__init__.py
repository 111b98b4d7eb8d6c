"""The host: finds plugins, decides which run, loads them in isolation, and keeps their items."""
