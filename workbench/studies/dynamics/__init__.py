"""Studies of dynamics: spiking neurons, state-space models, and the systems they stand for."""
