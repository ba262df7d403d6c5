"""Gives the web apps what they share: guarded requests, a server, static files, a layout and languages.

The names that other rooms and plugins may use are listed in ``__init__.pyi`` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
