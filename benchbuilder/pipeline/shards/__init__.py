"""The work on one shard, from files into files."""
