/* captum_names.c - Captum's classes and what asks for the same here: layer forms are a method with `at`,
 * neuron forms a method whose target is an inner value. */
#include "ascribe/attr.h"
#include <stddef.h>

#define INPUT(class, method)                                                                                 \
    { class, method, "", "" }
#define LAYER(class, method)                                                                                 \
    { class, method, "the layer", "" }
#define NEURON(class, method)                                                                                \
    { class, method, "", "the unit: target.value, target.index" }

static const asc_captum_name names[] = {
    INPUT("Saliency", "saliency"),
    INPUT("InputXGradient", "input-x-gradient"),
    INPUT("IntegratedGradients", "integrated-gradients"),
    INPUT("DeepLift", "deep-lift"),
    INPUT("DeepLiftShap", "deep-lift-shap"),
    INPUT("GradientShap", "gradient-shap"),
    INPUT("GuidedBackprop", "guided-backprop"),
    INPUT("Deconvolution", "deconvolution"),
    LAYER("GuidedGradCam", "guided-grad-cam"),
    INPUT("LRP", "lrp"),
    INPUT("NoiseTunnel", "noise-tunnel"),
    INPUT("FeatureAblation", "feature-ablation"),
    INPUT("FeaturePermutation", "feature-permutation"),
    INPUT("Occlusion", "occlusion"),
    INPUT("ShapleyValueSampling", "shapley-value-sampling"),
    INPUT("ShapleyValues", "shapley-values"),
    INPUT("Lime", "lime"),
    INPUT("KernelShap", "kernel-shap"),
    LAYER("LayerActivation", "layer-activation"),
    LAYER("LayerGradientXActivation", "input-x-gradient"),
    LAYER("LayerGradCam", "grad-cam"),
    LAYER("InternalInfluence", "internal-influence"),
    LAYER("LayerConductance", "conductance"),
    LAYER("LayerIntegratedGradients", "integrated-gradients"),
    LAYER("LayerDeepLift", "deep-lift"),
    LAYER("LayerDeepLiftShap", "deep-lift-shap"),
    LAYER("LayerGradientShap", "gradient-shap"),
    LAYER("LayerLRP", "lrp"),
    LAYER("LayerFeatureAblation", "feature-ablation"),
    LAYER("LayerFeaturePermutation", "feature-permutation"),
    NEURON("NeuronGradient", "saliency, norm signed"),
    NEURON("NeuronIntegratedGradients", "integrated-gradients"),
    {"NeuronConductance", "neuron-conductance", "",
     "neuron.value, neuron.index; the target stays the output"},
    NEURON("NeuronDeepLift", "deep-lift"),
    NEURON("NeuronDeepLiftShap", "deep-lift-shap"),
    NEURON("NeuronGradientShap", "gradient-shap"),
    NEURON("NeuronGuidedBackprop", "guided-backprop"),
    NEURON("NeuronDeconvolution", "deconvolution"),
    NEURON("NeuronFeatureAblation", "feature-ablation"),
    {"LimeBase", "asc_lime_base (ascribe/lime.h)", "", ""},
    {"DataLoaderAttribution", "asc_dataset_attribute (ascribe/dataset.h)", "", ""},
    {"infidelity", "asc_infidelity (ascribe/metrics.h)", "", ""},
    {"sensitivity_max", "asc_sensitivity (ascribe/metrics.h)", "", ""},
    {"FGSM", "asc_fgsm (ascribe/robust.h)", "", ""},
    {"PGD", "asc_pgd (ascribe/robust.h)", "", ""},
};

const asc_captum_name *asc_captum_name_at(size_t i) {
    return i < sizeof names / sizeof *names ? &names[i] : NULL;
}
