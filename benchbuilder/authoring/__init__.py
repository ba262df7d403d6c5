"""Gives recipe authors their tools: clones, word lists, dry runs and sweeps.

The names that other rooms and plugins may use are listed in ``__init__.pyi`` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
