"""The database in which people, what they are to judge, and their votes stand."""
