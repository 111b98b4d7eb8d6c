"""The command line: the root command, the commands of the core, and one way to print."""
