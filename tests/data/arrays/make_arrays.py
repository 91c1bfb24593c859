#!/usr/bin/env python3
"""Writes the array files of this folder and expected.json (numpy 2.4, safetensors 0.8).

expected.json: file -> name -> [element type, shape, values in row-major order as numpy gives them]."""
import json
import os

import numpy as np
import torch
from safetensors.torch import save_file

os.chdir(os.path.dirname(os.path.abspath(__file__)))
rng = np.random.default_rng(7)
want = {}


def note(file, name, a):
    a = np.asarray(a)
    want.setdefault(file, {})[name] = [a.dtype.name, list(a.shape), [float(v) for v in a.ravel()]]


def npy(file, a, version=None):
    with open(file, "wb") as f:
        np.lib.format.write_array(f, a, version=version, allow_pickle=False)
    note(file, "", a.astype(a.dtype.newbyteorder("=")))


x = rng.normal(size=(2, 3, 4))
npy("f64.npy", x)
npy("f32_v2.npy", x.astype("f4"), (2, 0))
npy("f16_v3.npy", x.astype("f2"), (3, 0))
npy("fortran.npy", np.asfortranarray(x.astype("f4")))
npy("fortran_big.npy", np.asfortranarray(x.astype(">f8")))
npy("big_i32.npy", np.arange(-6, 6, dtype=">i4").reshape(3, 4))
npy("scalar.npy", np.array(-1.25))
npy("empty.npy", np.zeros((0, 5), "f4"))
npy("bool.npy", np.array([[True, False], [False, True]]))
for t in ["i1", "i2", "i8", "u1", "u2", "u4", "u8"]:
    npy(t + ".npy", np.array([np.iinfo(t).min if t[0] == "i" and t != "i8" else 1, 3, 100], t))
arrays = {"w": x.astype("f4"), "layer.bias": x[0, 0], "f": np.asfortranarray(x[0]), "n": np.arange(5), "m": x > 0}
np.savez("stored.npz", **arrays)
np.savez_compressed("packed.npz", **arrays)
for file in ["stored.npz", "packed.npz"]:
    for k, v in arrays.items():
        note(file, k, v)
t = torch.tensor(x)
tensors = {"a.weight": t.float(), "b": t.double()[0], "half": t.half(), "brain": t.bfloat16(), "ids": torch.arange(4),
           "mask": t > 0, "scalar": torch.tensor(2.5), "none": torch.zeros(0, 3), "bytes": torch.arange(7, dtype=torch.uint8)}
save_file(tensors, "all.safetensors", metadata={"format": "pt"})
for k, v in tensors.items():
    note("all.safetensors", k, (v.float() if v.dtype == torch.bfloat16 else v).numpy())
np.save("object.npy", np.array([1, "a", None], dtype=object), allow_pickle=True)
np.save("complex.npy", np.array([1 + 2j]))
np.save("record.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
np.save("text.npy", np.array(["a", "bc"]))
with open("expected.json", "w") as f:
    json.dump(want, f, indent=0)
