/* ascribe/robust.h - adversarial inputs: the smallest steps that change the output most.
 */
#ifndef ASCRIBE_ROBUST_H
#define ASCRIBE_ROBUST_H

#include "ascribe/attribute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum asc_loss {
    ASC_LOSS_NLL,           /* -log of the target's number, as in Captum: it should be a probability */
    ASC_LOSS_CROSS_ENTROPY, /* -log of its share after a softmax of the last axis */
    ASC_LOSS_VALUE          /* its number with the sign turned */
} asc_loss;

typedef enum asc_ball { ASC_BALL_LINF, ASC_BALL_L2 } asc_ball;

/* What the request (inputs, target, epsilon, radius, step_size, steps, targeted, bounds) does not say.
 * Zero-initialise, set struct_size. */
typedef struct asc_attack {
    size_t struct_size;
    asc_loss loss;
    asc_ball ball;     /* pgd: of the radius, around each input of each example */
    bool random_start; /* pgd: a uniform point of the ball */
    const asc_array
        *masks; /* one per attacked input, broadcast to it: factors of the step (0 = stays); NULL = 1 */
    size_t n_masks;
    /* Instead of loss: its value's derivative with respect to the explained number f. NULL = loss. */
    double (*slope)(void *self, size_t example, double f);
    void *self;
} asc_attack;

/* Owned by the caller. */
typedef struct asc_adversarial {
    asc_scores *inputs; /* the attacked inputs (floating-point ones that are not fixed), error NULL */
    size_t n_inputs, n_examples;
    double *before, *after; /* [n_examples] the explained number */
    uint64_t n_forward, n_backward;
} asc_adversarial;

/* x + epsilon * sign(gradient of the loss), minus if targeted, where |gradient| > 1e-6; then into the bounds
 * (Goodfellow, Shlens, Szegedy, Explaining and Harnessing Adversarial Examples, ICLR 2015). */
ASC_API ASC_MUST_USE asc_status asc_fgsm(asc_net *net, const asc_attr_request *req, const asc_attack *how,
                                         asc_adversarial **out);
/* `steps` such steps of step_size, each followed by a projection onto the ball of `radius` around the input
 * and into the bounds (Madry et al., Towards Deep Learning Models Resistant to Adversarial Attacks, ICLR
 * 2018). */
ASC_API ASC_MUST_USE asc_status asc_pgd(asc_net *net, const asc_attr_request *req, const asc_attack *how,
                                        asc_adversarial **out);
ASC_API void asc_adversarial_destroy(asc_ctx *ctx, asc_adversarial *a); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
