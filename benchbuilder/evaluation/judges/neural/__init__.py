"""What the neural judges share: inputs, base models, training, checkpoints."""
