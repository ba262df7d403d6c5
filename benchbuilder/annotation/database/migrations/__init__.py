"""Migrations of the database, run by `benchbuilder.annotation.database.migrate`."""
