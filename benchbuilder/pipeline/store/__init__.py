"""Where a build keeps what it made."""
