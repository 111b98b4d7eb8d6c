"""The server: what others may ask of this host."""
