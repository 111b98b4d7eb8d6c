"""The agent: the loop, the one door to every tool, queues, repair, and the context pipeline."""
