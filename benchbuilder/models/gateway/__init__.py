"""The gateway: sends all model requests of a build and stores every reply."""

from benchbuilder.models.base import Receipt
from benchbuilder.models.gateway.gateway import Gateway

__all__ = ["Gateway", "Receipt"]
