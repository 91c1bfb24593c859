"""Captum's side of bench/bench_attribution.c: the same jobs, 2 threads, best of several calls.

usage: captum_jobs.py [JOB ...]; with --bench FILE also runs that program and prints ratios.
"""
import subprocess
import sys
import time

import captum.attr as ca
import torch
from torch import nn

torch.set_num_threads(2)
torch.manual_seed(1)


def mlp(n):
    return nn.Sequential(nn.Linear(n, 10), nn.ReLU(), nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 3)).eval()


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1 = nn.Conv2d(i, o, 3, stride, 1)
        self.c2 = nn.Conv2d(o, o, 3, 1, 1)
        self.down = nn.Conv2d(i, o, 1, stride) if stride == 2 else nn.Identity()
        self.r1, self.r2 = nn.ReLU(), nn.ReLU()

    def forward(self, x):
        return self.r2(self.down(x) + self.c2(self.r1(self.c1(x))))


def resnet():
    layers, i = [nn.Conv2d(3, 8, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 8
    for s, o in enumerate((8, 16, 24, 32)):
        layers += [Block(i, o, 2 if s else 1), Block(o, o, 1)]
        i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).eval()


def picture():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 10)).eval()


def ids():
    rows = torch.arange(224).div(8, rounding_mode="floor")
    return (rows[:, None] * 28 + rows[None, :])[None, None]


def jobs():
    small, wide, net, pic = mlp(10), mlp(100), resnet(), picture()
    x, xw, xr, xp = torch.rand(1, 10), torch.rand(1, 100), torch.rand(1, 3, 64, 64), torch.rand(1, 3, 224, 224)
    return {
        "ig-mlp": lambda: ca.IntegratedGradients(small).attribute(x, target=1, n_steps=50),
        "kernel-shap-mlp": lambda: ca.KernelShap(small).attribute(x, target=1, n_samples=50),
        "shapley-mlp": lambda: ca.ShapleyValueSampling(wide).attribute(xw, target=1, n_samples=25),
        "occlusion-resnet": lambda: ca.Occlusion(net).attribute(xr, (3, 16, 16), strides=(3, 8, 8), target=1),
        "ablation-picture": lambda: ca.FeatureAblation(pic).attribute(xp, target=1, feature_mask=ids()),
    }


def measure(run):
    best, calls, begun = 1e30, 0, time.perf_counter()
    while calls < 3 or (time.perf_counter() - begun < 2 and calls < 2000):
        t = time.perf_counter()
        run()
        t = time.perf_counter() - t
        if calls:
            best = min(best, t)
        calls += 1
    return best, calls


def main():
    args = sys.argv[1:]
    bench = None
    if args[:1] == ["--bench"]:
        bench, args = args[1], args[2:]
    bars = {"ig-mlp": 1 / 50, "kernel-shap-mlp": 1 / 100, "shapley-mlp": 1 / 10, "occlusion-resnet": 1 / 2}
    if bench:  # one process per job and side, so that peaks of memory are each job's own
        for name in jobs():
            if args and name not in args:
                continue
            ours = subprocess.run([bench, name], capture_output=True, text=True, check=True).stdout.split()
            theirs = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True,
                                    check=True).stdout.split()
            t = float(ours[1]) / float(theirs[1])
            bar = "" if name not in bars else "  (bar %.3f: %s)" % (bars[name], "met" if t <= bars[name] else "not met")
            print("%-18s ours %s s %s MB   captum %s s %s MB   time 1/%.1f%s   memory 1/%.1f" % (
                name, ours[1], ours[5], theirs[1], theirs[5], 1 / t, bar, float(theirs[5]) / float(ours[5])))
        return
    for name, run in jobs().items():
        if not args or name in args:
            best, calls = measure(run)
            status = open("/proc/self/status").read()
            peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
            print("%-18s %12.3e s  %5d calls  %6.1f MB" % (name, best, calls, peak))


main()
