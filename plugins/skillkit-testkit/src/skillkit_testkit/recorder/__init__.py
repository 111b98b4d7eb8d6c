"""Recording what happened to an agent, and playing it again without a network: what providers sent, what tools returned."""
