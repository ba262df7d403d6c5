"""The gateway: the one place of a build where models are asked."""

from benchbuilder.models.base import Receipt
from benchbuilder.models.gateway.gateway import Gateway

__all__ = ["Gateway", "Receipt"]
