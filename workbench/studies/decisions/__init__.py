"""Studies of decisions: what many people prefer, and games."""
