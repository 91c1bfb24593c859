# %% [markdown]
# # Which words of a prompt drove the answer?
# Run as a script (`python word_importance.py MODEL.gguf [PAGE.html]`) or cell by cell as a notebook.

# %%
import os
import sys

import ascribe

arguments = [a for a in sys.argv[1:] if not a.startswith("-")] if __name__ == "__main__" else []
path = arguments[0] if arguments else os.environ.get("ASC_MODEL", "models/SmolLM2-135M-Instruct.Q4_1.gguf")
page = arguments[1] if len(arguments) > 1 else "word_importance.html"
model = ascribe.load(path)

# %% [markdown]
# The model's own next words, and how much less likely they become without each word of the prompt (feature ablation:
# a measurement, one forward pass per word). Every score has an error.

# %%
prompt = "one two three"
answer = model.generate(prompt, 2)
result = model.explain(prompt, target=answer)
print(f"{prompt!r} -> {answer!r}, log-probability {result.value:.3f}")
for feature in sorted(result.features, key=lambda f: -abs(f.score)):
    print(f"  {feature.text:>12} {feature.score:+9.4f}  +- {feature.error:.1g}")

# %% [markdown]
# Do other methods agree? `compare` asks the same question several ways.

# %%
for other in model.compare(["feature-ablation", "shapley-values", "input-x-gradient"], prompt, target=answer).results:
    best = max(other.features, key=lambda f: f.score)
    print(f"{other.method:>18}: most for the answer is {best.text!r} ({best.score:+.3f})")

# %% [markdown]
# Each token of the answer by itself: the rows of the matrix add up to the scores above.

# %%
each = model.explain(prompt, target=answer, per_token=True)
print(each.matrix.round(3))

# %% [markdown]
# The same with Captum's classes: a script that used Captum changes its import.

# %%
from ascribe.captum.attr import FeatureAblation, LLMAttribution, TextTemplateInput  # noqa: E402

template = TextTemplateInput("{} two {}", ["one", "three"])
print(LLMAttribution(FeatureAblation(model)).attribute(template, target=answer))

# %%
result.to_html(page)
print("page:", page)
