"""Efficient models: what fewer bits, parameters or steps cost."""
