"""Where did this model output come from?

    import ascribe
    m = ascribe.load("model.gguf")
    print(m.explain("The capital of France is", target=" Paris"))

Everything is computed by the C library; see docs/python.md.
"""
from __future__ import annotations

import os as _os

if "OMP_WAIT_POLICY" not in _os.environ:  # its threads wait politely, as those of the command line do
    _os.environ.setdefault("GOMP_SPINCOUNT", "4000")

try:
    from . import _ascribe
except ImportError as _e:
    raise ImportError(f"the extension module of ascribe cannot be loaded: {_e}. Install the package (pip install "
                      "./bindings/python), or set PYTHONPATH to what scripts/python-path.sh prints; shared libraries "
                      "that are missing come with scripts/install-deps.sh, or inside a wheel made with bundle=1") from _e
from ._errors import (Aborted, AlreadyExists, Cancelled, DataLoss, DeadlineExceeded, Error, FailedPrecondition,
                      Internal, InvalidArgument, NotFound, OutOfRange, PermissionDenied, ResourceExhausted,
                      Unavailable, Unimplemented, UnknownError)
from ._load import keys, load, methods
from ._models import Encoder, Model, Net, Patched, Port, Token, TokenLogprob
from ._patch import PatchedNet
from ._results import Comparison, Feature, NetResult, Price, PromptResult, Result

__version__: str = _ascribe.version

__all__ = [
    "Aborted", "AlreadyExists", "Cancelled", "Comparison", "DataLoss", "DeadlineExceeded", "Encoder", "Error",
    "FailedPrecondition", "Feature", "Internal", "InvalidArgument", "Model", "Net", "NetResult", "NotFound",
    "OutOfRange", "Patched", "PatchedNet", "PermissionDenied", "Port", "Price", "PromptResult",
    "ResourceExhausted", "Result", "Token", "TokenLogprob", "Unavailable", "Unimplemented", "UnknownError",
    "__version__", "keys", "load", "methods"
]
