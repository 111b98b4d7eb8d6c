"""``skillkit chat``: a conversation at the terminal."""
