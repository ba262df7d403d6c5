"""benchbuilder builds misinformation benchmarks for language models from verified knowledge.

The functions of the Python API are listed in ``__init__.pyi`` and imported on first use.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
