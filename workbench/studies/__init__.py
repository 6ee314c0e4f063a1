"""Studies: one paper each, by family."""
