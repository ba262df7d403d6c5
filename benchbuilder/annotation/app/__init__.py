"""The review app: server-rendered pages in which people judge tasks."""
