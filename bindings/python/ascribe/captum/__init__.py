"""Captum's classes and call shapes on ascribe's nets and models: change the import, keep the script.

    from ascribe.captum.attr import IntegratedGradients
    scores, delta = IntegratedGradients(model).attribute(x, target=1, return_convergence_delta=True)

`model` is what ascribe.load() makes of an ONNX file, a net built here (ascribe.Net, ascribe.NetFunction) or a
torch.nn.Module, whose layers are then looked into and whose weights are copied. Layers are named by their site or
path. docs/captum.md lists every class, its arguments and its differences.
"""

from __future__ import annotations

from . import _settings
from ._arrays import ArgumentError
from ._call import manual_seed


def set_compat(captum: bool) -> None:
    """True (as after the import): Captum's numbers, also where they come from its faults. False: the library's own
    (docs/captum.md says where they differ). compat= of a constructor is for one object."""
    _settings.compat = captum


__all__ = ["ArgumentError", "manual_seed", "set_compat"]
