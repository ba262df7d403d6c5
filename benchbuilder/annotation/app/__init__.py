"""The web app in which people judge: server-rendered pages over the database of votes."""
