"""What a TBE file imports, as long as it runs: recording stand-ins for the toolkit's Python packages."""
