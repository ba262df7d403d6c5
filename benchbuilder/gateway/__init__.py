"""The gateway: the one place of a build where models are asked."""

from benchbuilder.gateway.gateway import Gateway
from benchbuilder.ports.model import Receipt

__all__ = ["Gateway", "Receipt"]
