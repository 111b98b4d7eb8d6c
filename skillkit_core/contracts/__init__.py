"""The contracts that plugins implement, one file each; each names the hook that brings an implementation in."""
