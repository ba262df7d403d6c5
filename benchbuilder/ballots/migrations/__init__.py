"""Migrations of the database, run by `benchbuilder.ballots.migrating`."""
