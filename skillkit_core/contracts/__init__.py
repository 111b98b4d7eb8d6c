"""The contracts that plugins implement, one file each. Each contract names the hook that registers an implementation."""
