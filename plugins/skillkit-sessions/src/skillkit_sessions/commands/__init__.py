"""The commands of ``skillkit sessions``; each works on any session store."""
