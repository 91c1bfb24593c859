"""Captum's attribution classes: captum.attr."""

from __future__ import annotations

from typing import Any

from .._absent import absent
from . import visualization
from ._base import (
    Attribution,
    GradientAttribution,
    LayerAttribution,
    NeuronAttribution,
    PerturbationAttribution,
)
from ._dataset import DataLoaderAttribution
from ._gradient import (
    Deconvolution,
    DeepLift,
    DeepLiftShap,
    GradientShap,
    GuidedBackprop,
    GuidedGradCam,
    InputXGradient,
    IntegratedGradients,
    Saliency,
)
from ._inputs import (
    InterpretableInput,
    ProductBaselines,
    TextTemplateInput,
    TextTokenInput,
    TokenReferenceBase,
)
from ._layer import (
    InternalInfluence,
    LayerActivation,
    LayerConductance,
    LayerDeepLift,
    LayerDeepLiftShap,
    LayerFeatureAblation,
    LayerFeaturePermutation,
    LayerGradCam,
    LayerGradientShap,
    LayerGradientXActivation,
    LayerIntegratedGradients,
)
from ._lime import (
    KernelShap,
    Lime,
    LimeBase,
    SkLearnLasso,
    SkLearnLinearRegression,
    SkLearnRidge,
    get_exp_kernel_similarity_function,
)
from ._llm import LLMAttribution, LLMAttributionResult, LLMGradientAttribution
from ._lrp import (
    LRP,
    Alpha1_Beta0_Rule,
    EpsilonRule,
    GammaRule,
    IdentityRule,
    LayerLRP,
    PropagationRule,
)
from ._neuron import (
    NeuronConductance,
    NeuronDeconvolution,
    NeuronDeepLift,
    NeuronDeepLiftShap,
    NeuronFeatureAblation,
    NeuronGradient,
    NeuronGradientShap,
    NeuronGuidedBackprop,
    NeuronIntegratedGradients,
)
from ._noise import NoiseTunnel
from ._perturbation import (
    FeatureAblation,
    FeaturePermutation,
    Occlusion,
    ShapleyValues,
    ShapleyValueSampling,
)

__all__ = [
    "DataLoaderAttribution",
    "Alpha1_Beta0_Rule",
    "Attribution",
    "Deconvolution",
    "DeepLift",
    "DeepLiftShap",
    "EpsilonRule",
    "FeatureAblation",
    "FeaturePermutation",
    "GammaRule",
    "GradientAttribution",
    "GradientShap",
    "GuidedBackprop",
    "GuidedGradCam",
    "IdentityRule",
    "InputXGradient",
    "IntegratedGradients",
    "InternalInfluence",
    "InterpretableInput",
    "KernelShap",
    "LLMAttribution",
    "LLMAttributionResult",
    "LLMGradientAttribution",
    "LRP",
    "LayerActivation",
    "LayerAttribution",
    "LayerConductance",
    "LayerDeepLift",
    "LayerDeepLiftShap",
    "LayerFeatureAblation",
    "LayerFeaturePermutation",
    "LayerGradCam",
    "LayerGradientShap",
    "LayerGradientXActivation",
    "LayerIntegratedGradients",
    "LayerLRP",
    "Lime",
    "LimeBase",
    "NeuronAttribution",
    "NeuronConductance",
    "NeuronDeconvolution",
    "NeuronDeepLift",
    "NeuronDeepLiftShap",
    "NeuronFeatureAblation",
    "NeuronGradient",
    "NeuronGradientShap",
    "NeuronGuidedBackprop",
    "NeuronIntegratedGradients",
    "NoiseTunnel",
    "Occlusion",
    "PerturbationAttribution",
    "ProductBaselines",
    "PropagationRule",
    "Saliency",
    "ShapleyValueSampling",
    "ShapleyValues",
    "SkLearnLasso",
    "SkLearnLinearRegression",
    "SkLearnRidge",
    "TextTemplateInput",
    "TextTokenInput",
    "TokenReferenceBase",
    "get_exp_kernel_similarity_function",
    "visualization",
]


def __getattr__(name: str) -> Any:
    return absent("attr", name)
