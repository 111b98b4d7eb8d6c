"""The client: what this host asks of agents elsewhere."""
