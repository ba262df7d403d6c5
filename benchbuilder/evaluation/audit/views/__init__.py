"""The views of the audit: what somebody sees who does not see all of an item."""
