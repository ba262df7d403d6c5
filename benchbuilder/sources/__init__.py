"""Sources: the kinds that read files into rows and account for every unit of every file."""
