"""Where did this model output come from? The C library `ascribe` for Python."""
from __future__ import annotations

from . import _ascribe
from ._errors import Error

__version__: str = _ascribe.version
__all__ = ["Error", "__version__"]
