"""Steps of an evaluation: answering and scoring."""
