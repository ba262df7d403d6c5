"""The shared part of neural judges: inputs, base models, training, stored networks."""
