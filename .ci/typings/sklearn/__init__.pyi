# The types of this library take the checker longer than those of the whole program, and tell it little.
from typing import Any

def __getattr__(name: str) -> Any: ...
