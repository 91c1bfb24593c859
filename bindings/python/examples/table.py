# %% [markdown]
# # Which columns of a table decided?
# A credit-like table with a rule that we know, a small net trained on it here, and the question whether attribution finds
# the rule again. `python table.py [PAGE.html]`

# %%
import sys

import numpy as np

import ascribe
from ascribe.captum.attr import DeepLift, FeaturePermutation, IntegratedGradients, ShapleyValues
from ascribe.nets import Frame, Tensor

arguments = [a for a in sys.argv[1:] if not a.startswith("-")] if __name__ == "__main__" else []
page = arguments[0] if arguments else "table.html"
rng = np.random.default_rng(1)

# %% [markdown]
# Income helps, debt hurts, and late payments matter only beyond two; the colour of the form means nothing.

# %%
columns = ["income", "debt", "late payments", "colour of form"]
x = np.stack([rng.normal(3, 1, 2000), rng.normal(2, 1, 2000), rng.poisson(1.5, 2000), rng.integers(0, 3, 2000)], 1)
y = (x[:, 0] - 0.8 * x[:, 1] - 1.5 * np.maximum(x[:, 2] - 2, 0) + rng.normal(0, 0.3, 2000) > 0.5).astype(np.float64)
mean, spread = x.mean(0), x.std(0)
z = (x - mean) / spread

# %% [markdown]
# Training: two layers, gradient descent by hand.

# %%
w1, b1 = rng.normal(0, 0.5, (4, 16)), np.zeros(16)
w2, b2 = rng.normal(0, 0.5, 16), 0.0
for step in range(1500):
    h = np.maximum(z @ w1 + b1, 0)
    error = (1 / (1 + np.exp(-(h @ w2 + b2))) - y) / len(y)
    back = np.outer(error, w2) * (h > 0)
    w2, b2 = w2 - 3.0 * h.T @ error, b2 - 3.0 * error.sum()
    w1, b1 = w1 - 3.0 * z.T @ back, b1 - 3.0 * back.sum(0)
print("accuracy", np.mean((np.maximum(z @ w1 + b1, 0) @ w2 + b2 > 0) == y).round(3))


# %%
def forward(f: Frame, row: Tensor) -> Tensor:
    return f.linear("out", f.relu("hidden", f.linear("in", (row - f.constant(mean)) / f.constant(spread))))


net = ascribe.Net.build({"row": (None, 4)}, forward, {"in.weight": w1.T.copy(), "in.bias": b1,
                                                      "out.weight": w2[None], "out.bias": np.array([b2])})

# %% [markdown]
# One applicant against the average one. The scores add up to the difference of the two answers.

# %%
applicant = np.array([[2.0, 3.5, 4.0, 1.0]], np.float32)
average = mean[None].astype(np.float32)
print(f"answer {net(applicant)[0, 0]:+.2f}, of the average {net(average)[0, 0]:+.2f}")
scores, delta = IntegratedGradients(net).attribute(applicant, average, target=0, return_convergence_delta=True)
others = {"DeepLift": DeepLift(net).attribute(applicant, average, target=0),
          "Shapley values": ShapleyValues(net).attribute(applicant, average, target=0)}
print(f"{'':>16} {'integrated':>12}" + "".join(f"{n:>16}" for n in others))
for i, name in enumerate(columns):
    print(f"{name:>16} {scores[0, i]:>+12.3f}" + "".join(f"{o[0, i]:>+16.3f}" for o in others.values()))
print(f"sum {scores.sum():+.3f}, missing {delta[0]:+.1e}")

# %% [markdown]
# And over many applicants: how much of the answer hangs on each column?

# %%
drop = np.abs(FeaturePermutation(net).attribute(x[:500].astype(np.float32), target=0)).mean(0)
for name, v in zip(columns, drop):
    print(f"{name:>16} {'#' * int(30 * v / drop.max())} {v:.2f}")

# %%
net.explain(applicant, baseline=average, target=0, method="integrated-gradients", feature_names=columns).to_html(page)
print("page:", page)
