"""The report card: what is checked, one idea in each file, in the order in which a card shows it."""
