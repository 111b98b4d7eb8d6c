"""The formats of bundles and marketplaces: what each host reads in a folder."""
