# %% [markdown]
# # Which retrieved passage did the answer come from?
# Passages that a search has found are put before a question; each is one feature. Then the sentences of the best one.
# `python chat_with_passages.py MODEL.gguf [PAGE.html]`

# %%
import os
import sys

import ascribe

arguments = [a for a in sys.argv[1:] if not a.startswith("-")] if __name__ == "__main__" else []
path = arguments[0] if arguments else os.environ.get("ASC_MODEL", "models/SmolLM2-135M-Instruct.Q4_1.gguf")
page = arguments[1] if len(arguments) > 1 else "chat_with_passages.html"
model = ascribe.load(path)

# %%
passages = [
    {"label": "museum", "text": "The museum opens at nine. It is closed on Mondays."},
    {"label": "bridge", "text": "The old bridge was built in 1742. It is 90 metres long."},
    {"label": "market", "text": "The market is held on Saturdays. It sells fish and flowers."},
]
question = "When was the old bridge built?"

# %% [markdown]
# The answer is given here so that every model can be asked; leave `target` out and the model's own words are explained.

# %%
answer = "1742"
result = model.explain(documents=passages, question=question, target=answer)
print(f"{question} -> {answer}   (log-probability {result.value:.2f})")
for passage, feature in zip(passages, result.features):
    print(f"  {passage['label']:>8} {feature.score:+8.3f}")
best = max(range(len(passages)), key=lambda i: result.features[i].score)
print("most from:", passages[best]["label"])

# %% [markdown]
# Inside that passage: by sentence.

# %%
inside = model.explain(documents=[passages[best]["text"]], question=question, target=answer, features="sentence")
for feature in inside.features:
    print(f"  {feature.score:+8.3f}  {feature.text.strip()}")

# %% [markdown]
# Passages that help only together or stand for one another need more than leaving one out: Shapley values share fairly.

# %%
fair = model.explain(documents=passages, question=question, target=answer, method="shapley-values")
for passage, a, b in zip(passages, result.features, fair.features):
    print(f"  {passage['label']:>8}   alone {a.score:+8.3f}   fair share {b.score:+8.3f}")

# %%
result.to_html(page)
print("page:", page)
