"""The database of the review app: people, projects, tasks and votes."""
