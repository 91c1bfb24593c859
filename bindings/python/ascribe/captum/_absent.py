"""Names of Captum that are not here: the error says why, and what to use instead."""

from __future__ import annotations

from typing import Any

_EMBEDDING = "layers are sites here: LayerIntegratedGradients at the embedding's site needs no swapped module"
_STATS = "streaming statistics of tensors: use numpy"
_INFLUENCE = "influence of training examples needs the training set and loss, which this library does not run"
_CONCEPT = "concepts need activations of sets of examples; Net.values() gives them, training a classifier is yours"

ABSENT: dict[str, dict[str, str]] = {
    "attr": {
        "InterpretableEmbeddingBase": _EMBEDDING,
        "configure_interpretable_embedding_layer": _EMBEDDING,
        "remove_interpretable_embedding_layer": _EMBEDDING,
        "ModelInputWrapper": "inputs are attributed to beside layers without a wrapper",
        "ImageMaskInput": "language models here read text alone",
        "RemoteLLMAttribution": "models behind a network are asked by `ascribe serve`'s own API",
        "RemoteLLMProvider": "models behind a network are asked by `ascribe serve`'s own API",
        "VLLMProvider": "models behind a network are asked by `ascribe serve`'s own API",
        **dict.fromkeys(
            ("Summarizer", "CommonStats", "ClassSummarizer", "Mean", "StdDev", "MSE", "Var", "Min", "Max", "Sum",
             "Count", "StatValue", "SummarizerSingleTensor"),
            _STATS,
        ),
    },
    "metrics": {},
    "robust": {
        "AttackComparator": "a loop over attacks and a metric: write it",
        "MinParamPerturbation": "a search over one parameter of an attack: write it",
        "Perturbation": "FGSM and PGD share no base here",
    },
    "influence": dict.fromkeys(
        ("DataInfluence", "SimilarityInfluence", "TracInCPBase", "TracInCP", "TracInCPFast", "TracInCPFastRandProj",
         "NaiveInfluenceFunction"),
        _INFLUENCE,
    ),
    "concept": dict.fromkeys(
        ("CAV", "Concept", "ConceptInterpreter", "TCAV", "Classifier", "DefaultClassifier"), _CONCEPT
    ),
    "insights": {},
}


def absent(module: str, name: str) -> Any:
    """For a module's __getattr__: always raises AttributeError."""
    why = ABSENT[module].get(name)
    if why is None:
        raise AttributeError(f"module 'ascribe.captum.{module}' has no attribute {name!r}")
    raise AttributeError(f"captum.{module}.{name} is not part of ascribe.captum: {why}")
