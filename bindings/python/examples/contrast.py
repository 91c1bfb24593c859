# %% [markdown]
# # Why this answer rather than that one?
# A contrast explains the difference of two answers' log-probabilities: what speaks for both cancels.
# `python contrast.py MODEL.gguf [PAGE.html]`

# %%
import os
import sys

import ascribe

arguments = [a for a in sys.argv[1:] if not a.startswith("-")] if __name__ == "__main__" else []
path = arguments[0] if arguments else os.environ.get("ASC_MODEL", "models/SmolLM2-135M-Instruct.Q4_1.gguf")
page = arguments[1] if len(arguments) > 1 else "contrast.html"
model = ascribe.load(path)

# %%
prompt, this, that = "The capital of Italy is", " Rome", " Paris"
alone = model.explain(prompt, target=this)
contrast = model.explain(prompt, target=this, versus=that)
print(f"log p({this!r}) - log p({that!r}) = {contrast.value:+.3f}")
print(f"{'word':>12} {'for ' + this.strip():>12} {'not ' + that.strip():>12}")
for a, c in zip(alone.features, contrast.features):
    print(f"{a.text.strip():>12} {a.score:>+12.3f} {c.score:>+12.3f}")

# %% [markdown]
# The same question with a changed prompt: what moves?

# %%
for country in ("Italy", "France", "Spain"):
    r = model.explain(f"The capital of {country} is", target=this, versus=that)
    word = max(r.features, key=lambda f: abs(f.score))
    print(f"{country:>8}: difference {r.value:+7.3f}, most from {word.text.strip()!r} ({word.score:+.3f})")

# %%
contrast.to_html(page)
print("page:", page)
