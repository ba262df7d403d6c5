"""The model kinds: adapters of services and libraries."""
