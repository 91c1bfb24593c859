"""Multipliers of pairs (DeepLift, docs/rules.md) as functions of two runs, by PyTorch: what the scripts beside this one build
models of. pairs(eps) has the ops that move; eps is that of the norms."""
import torch

# Values of both runs travel as pairs; gradients of the first of a pair are multipliers, those of the second are nothing.
def rule(forward, backward):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.save_for_backward(*xs)
            n = len(xs) // 2
            return forward(*xs[:n]), forward(*xs[n:])

        @staticmethod
        def backward(ctx, g, _):
            xs = ctx.saved_tensors
            n = len(xs) // 2
            gs = backward(g, *xs)
            gs = gs if isinstance(gs, tuple) else (gs,)
            return gs + (None,) * n

    def call(*pairs):
        return F.apply(*[p[0] for p in pairs], *[p[1] for p in pairs])

    return call


def secant(f, df):
    def back(g, x, x0):
        d = x - x0
        near = d.abs() < 1e-7
        return g * torch.where(near, df(x), (f(x) - f(x0)) / torch.where(near, torch.ones_like(d), d))

    return rule(f, back)


def shared(e_x, e_x0, x, x0):
    d = x - x0
    near = d.abs() < 1e-7
    return torch.where(near, e_x, (e_x - e_x0) / torch.where(near, torch.ones_like(d), d))


def unbroadcast(g, like):
    while g.dim() > like.dim():
        g = g.sum(0)
    for k, n in enumerate(like.shape):
        if n == 1 and g.shape[k] != 1:
            g = g.sum(k, keepdim=True)
    return g


def softmax_back(g, x, x0):
    top = torch.maximum(x.max(-1, keepdim=True)[0], x0.max(-1, keepdim=True)[0])
    e, e0 = torch.exp(x - top), torch.exp(x0 - top)
    s, s0 = e.sum(-1, keepdim=True), e0.sum(-1, keepdim=True)
    first, second = s / (s + s0), s0 / (s + s0)  # weights of the orders: e moves first at 1/s, or at 1/s0
    by_e = g * (first / s + second / s0)
    by_r = (g * (first * e0 + second * e)).sum(-1, keepdim=True)
    by_e = by_e - by_r / s / s0  # 1/s - 1/s0 = -(s - s0) / (s s0)
    return by_e * shared(e, e0, x, x0)


def log_softmax_back(g, x, x0):
    top = torch.maximum(x.max(-1, keepdim=True)[0], x0.max(-1, keepdim=True)[0])
    e, e0 = torch.exp(x - top), torch.exp(x0 - top)
    s, s0 = e.sum(-1, keepdim=True), e0.sum(-1, keepdim=True)
    log_slope = shared(torch.log(s), torch.log(s0), s, s0)
    log_slope = torch.where((s - s0).abs() < 1e-7, 1 / s, log_slope)
    return g - g.sum(-1, keepdim=True) * log_slope * shared(e, e0, x, x0)


def pairs(eps):
    def unit_back(g, x, x0):  # y = x r
        q, q0 = (x * x).mean(-1, keepdim=True) + eps, (x0 * x0).mean(-1, keepdim=True) + eps
        r, r0 = q ** -0.5, q0 ** -0.5
        first, second = r0 / (r + r0), r / (r + r0)  # x moves first at r, or at r0
        by_r = (g * (first * x0 + second * x)).sum(-1, keepdim=True)
        by_q = by_r * (r - r0) / torch.where(q == q0, torch.ones_like(q), q - q0)
        by_q = torch.where((q - q0).abs() < 1e-9, by_r * -0.5 * r ** 3, by_q)
        return g * (first * r + second * r0) + by_q * (x + x0) / x.shape[-1]

    class Pairs:
        mul = staticmethod(rule(lambda a, b: a * b,
                                lambda g, a, b, a0, b0: (unbroadcast(g * (b + b0) / 2, a), unbroadcast(g * (a + a0) / 2, b))))
        matmul = staticmethod(rule(lambda a, b: a @ b,
                                   lambda g, a, b, a0, b0: (unbroadcast(g @ ((b + b0) / 2).mT, a),
                                                            unbroadcast(((a + a0) / 2).mT @ g, b))))
        silu = staticmethod(secant(torch.nn.functional.silu,
                                   lambda x: torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x)))))
        unit = staticmethod(rule(lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps), unit_back))
        softmax = staticmethod(rule(lambda s: torch.softmax(s, -1), softmax_back))
        log_softmax = staticmethod(rule(lambda s: torch.log_softmax(s, -1), log_softmax_back))

        @staticmethod
        def each(f, x):
            return f(x[0]), f(x[1])

        @staticmethod
        def linear(x, w):
            return Pairs.each(lambda t: t @ w.T, x)

        @staticmethod
        def add(a, b):
            return a[0] + b[0], a[1] + b[1]

        @staticmethod
        def norm(x, w):
            return Pairs.each(lambda t: t * w, Pairs.unit(x))

    return Pairs
