"""Language models from inside: what goes on between a question and its answer."""
