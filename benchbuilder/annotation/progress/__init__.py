"""How far people are: progress and agreement of a project, and of each annotator."""
