"""Keeps pyarrow from importing pandas, where that is installed, for lists that cannot be of pandas.

Whenever pyarrow is given a list it looks if that is a series of pandas, and imports pandas to know: a fifth of a second
and 40 MB in each process. As long as nobody else has imported pandas, there can be no series. The command line asks for
this; in other programs, which import benchbuilder, imports stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_WITHOUT_PANDAS = ("benchbuilder", "pyarrow")
"""Whose code never imports pandas itself; what it asks for by name goes through `importlib`."""
_WITH_PANDAS = "pyarrow.pandas_compat"
"""The module of pyarrow that makes data frames."""


class PandasLater(MetaPathFinder):
    """Says that there is no pandas if it is pyarrow that asks; once anybody else has asked, pyarrow may look again."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None  # noqa: ARG002
    ) -> ModuleSpec | None:  # fmt: skip
        """Nothing: others find modules."""
        if fullname == "pandas":
            asking = _asking_module()
            if asking.partition(".")[0] in _WITHOUT_PANDAS and asking != _WITH_PANDAS:
                raise ModuleNotFoundError("nobody has imported pandas", name="pandas")
            sys.meta_path.remove(self)
            shim: Any = getattr(sys.modules.get("pyarrow.lib"), "_pandas_api", None)
            if shim is not None:
                shim.__init__()  # forgets that there was none
        return None


def _asking_module() -> str:
    """The name of the module whose code imports something now, or has called the compiled code that does."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib._bootstrap"):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def leave_pandas_for_later() -> None:
    """Let pyarrow do without pandas until somebody imports it."""
    if "pandas" not in sys.modules and not any(isinstance(finder, PandasLater) for finder in sys.meta_path):
        sys.meta_path.insert(0, PandasLater())
