"""What flows between steps: the envelope, the roles in flow order, payloads, outcomes and tables."""
