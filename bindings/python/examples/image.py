# %% [markdown]
# # Where in a picture does a net look?
# A small convolutional net, written here with the builder, that answers "how bright is the brightest square?"; its
# scores must lie on that square. With a model of your own: `net = ascribe.load("model.onnx")`, the rest stays.
# `python image.py [PAGE.html]`

# %%
import sys
from typing import Any

import numpy as np

import ascribe
from ascribe.captum.attr import GuidedGradCam, IntegratedGradients, LayerGradCam, Occlusion
from ascribe.nets import Frame, Tensor

arguments = [a for a in sys.argv[1:] if not a.startswith("-")] if __name__ == "__main__" else []
page = arguments[0] if arguments else "image.html"


# %%
def forward(f: Frame, picture: Tensor) -> Tensor:
    found = f.relu("found", f.conv("template", picture))  # a square on a darker ground
    pooled = f.max_pool("where", found, 3)
    return f.linear("score", pooled.flatten(1))


size, side = 24, 6
template = np.full((1, 1, side + 2, side + 2), -1.0, np.float32)
template[..., 1:-1, 1:-1] = 0.6
places = (size - side - 1) // 3
weights = {"template.weight": template / side**2, "template.bias": np.array([-0.1], np.float32),
           "score.weight": np.ones((1, places * places), np.float32), "score.bias": np.zeros(1, np.float32)}
net = ascribe.Net.build({"picture": (None, 1, size, size)}, forward, weights)

# %% [markdown]
# A picture: noise, a bright square, and a bright stripe that is no square.

# %%
rng = np.random.default_rng(0)
picture = rng.uniform(0.0, 0.15, (1, 1, size, size)).astype(np.float32)
top, left = 3, 12
picture[0, 0, top:top + side, left:left + side] = 0.95
picture[0, 0, 18, 2:22] = 0.95
print("the net's answer:", net(picture).round(3))

# %%
square = np.zeros((size, size), bool)
square[top - 1:top + side + 1, left - 1:left + side + 1] = True
maps = {
    "IntegratedGradients": IntegratedGradients(net).attribute(picture, target=0, n_steps=32),
    "Occlusion": Occlusion(net).attribute(picture, sliding_window_shapes=(1, 4, 4), strides=(1, 2, 2), target=0),
    "GuidedGradCam": GuidedGradCam(net, "found").attribute(picture, target=0),
}
for name, scores in maps.items():
    share = np.abs(scores[0, 0][square]).sum() / np.abs(scores).sum()
    print(f"{name:>20}: {share:.0%} of the score lies on the square ({square.mean():.0%} of the picture)")
coarse = LayerGradCam(net, "found").attribute(picture, target=0)
row, column = divmod(int(coarse[0, 0].argmax()), coarse.shape[3])
print(f"{'LayerGradCam':>20}: {coarse.shape[2]} x {coarse.shape[3]}, strongest at row {row}, column {column}")


# %%
def draw(scores: Any) -> str:
    """The map in characters."""
    strength = np.abs(scores[0, 0]) / np.abs(scores).max()
    return "\n".join("".join(" .:-=+*#%@"[min(9, int(v * 10))] for v in row) for row in strength)


print(draw(maps["IntegratedGradients"]))

# %%
net.explain(picture, method="integrated-gradients", target=0).to_html(page)
print("page:", page)
