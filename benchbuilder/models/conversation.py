"""Conversations: the work on one row where a model may have to help."""

from __future__ import annotations

from collections.abc import Generator

from benchbuilder.core import Outcome
from benchbuilder.models.base import Reply, Request

Conversation = Generator[Request, Reply, list[Outcome]]
"""The work on one row where a model may have to help: yields requests, is sent replies, returns the row's outcomes."""
