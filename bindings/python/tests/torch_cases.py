"""Torch modules and functions, each with its inputs: what from_torch has to give the same values for."""
import torch
import torch.nn.functional as F
from torch import nn


class Call(nn.Module):
    """A function of modules and inputs."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(modules)

    def forward(self, *inputs):
        return self.function(*self.parts, *inputs)


class WithState(nn.Module):
    """A recurrent layer that is given its first state, as tutorials do."""

    def __init__(self, layer, two, value):
        super().__init__()
        self.layer, self.two, self.value = layer, two, value

    def forward(self, x):
        h = torch.full((1, x.size(0), 7), self.value)
        return self.layer(x, (h, h * 2) if self.two else h)[0][:, -1, :]


def drawn(norm):
    for t in (norm.running_mean, norm.weight, norm.bias):
        if t is not None:
            t.data.normal_()
    norm.running_var.uniform_(.5, 2)
    return norm


def recurrent(seq):
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        for kw in ({"batch_first": True}, {}, {"num_layers": 2, "batch_first": True}, {"bidirectional": True},
                   {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False, "batch_first": True},
                   {"num_layers": 3, "dropout": .2, "batch_first": True}):
            layer = kind(6, 7, **kw)
            yield "%s %s" % (kind.__name__, kw), Call(lambda m, x: m(x)[0], layer), seq
            last = (lambda m, x: m(x)[1][0][-1]) if kind is nn.LSTM else (lambda m, x: m(x)[1][-1])
            yield "%s %s last" % (kind.__name__, kw), Call(last, layer), seq
        yield kind.__name__ + " one", Call(lambda m, x: m(x[0])[0], kind(6, 7)), seq[:1]
        yield kind.__name__ + "Cell", Call(lambda m, x: torch.stack([*m(x[:, 0])]) if isinstance(m(x[:, 0]), tuple) else m(
            x[:, 0]), getattr(nn, kind.__name__ + "Cell")(6, 7)), seq
        for value in (0., .5):
            yield "%s state %g" % (kind.__name__, value), WithState(kind(6, 7, batch_first=True), kind is nn.LSTM, value), seq
    yield "RNN relu", Call(lambda m, x: m(x)[0], nn.RNN(6, 7, nonlinearity="relu", batch_first=True)), seq
    yield "LSTM proj", Call(lambda m, x: m(x)[0], nn.LSTM(6, 7, proj_size=3, batch_first=True)), seq
    yield "LSTM cell", Call(lambda m, x: m(x)[1][1][0], nn.LSTM(6, 7, batch_first=True)), seq


def attention(seq):
    mha, causal = nn.MultiheadAttention, nn.Transformer.generate_square_subsequent_mask(5)
    pads = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]).bool()
    for kw in ({"batch_first": True}, {}, {"batch_first": True, "bias": False}):
        yield "attention %s" % kw, Call(lambda m, x: m(x, x, x)[0], mha(6, 2, **kw)), seq
    m = mha(6, 2, batch_first=True)
    yield "attention without weights", Call(lambda m, x: m(x, x, x, need_weights=False)[0], m), seq
    yield "attention's weights", Call(lambda m, x: m(x, x, x)[1], m), seq
    yield "weights of heads", Call(lambda m, x: m(x, x, x, average_attn_weights=False)[1], m), seq
    yield "attention kdim", Call(lambda m, x: m(x, x[:, :, :4], x[:, :, 1:6])[0], mha(6, 2, kdim=4, vdim=5,
                                                                                    batch_first=True)), seq
    yield "attention causal", Call(lambda m, x: m(x, x, x, attn_mask=causal, is_causal=True)[0], m), seq
    yield "attention truths", Call(lambda m, x: m(x, x, x, attn_mask=causal < 0)[0], m), seq
    yield "attention pads", Call(lambda m, x, p: m(x, x, x, key_padding_mask=p)[0], m), seq, pads
    yield "attention pads causal", Call(lambda m, x, p: m(x, x, x, key_padding_mask=p, attn_mask=causal < 0)[0], m), seq, pads
    yield "F.scaled_dot_product_attention", Call(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)), seq
    yield "F.sdpa mask", Call(lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=causal == 0)), seq
    kinds = ({}, {"norm_first": True}, {"activation": "gelu"})
    for kw in kinds:
        yield "encoder layer %s" % kw, nn.TransformerEncoderLayer(6, 2, 12, batch_first=True, **kw), seq
    yield "encoder layer, tokens first", nn.TransformerEncoderLayer(6, 2, 12), seq
    enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), 2, norm=nn.LayerNorm(6))
    yield "encoder", enc, seq
    yield "encoder causal", Call(lambda m, x: m(x, mask=causal), enc), seq
    yield "encoder pads", Call(lambda m, x, p: m(x, src_key_padding_mask=p) * (~p).unsqueeze(-1), enc), seq, pads
    yield "decoder layer", Call(lambda m, x: m(x, x * 2), nn.TransformerDecoderLayer(6, 2, 12, batch_first=True)), seq
    yield "transformer", Call(lambda m, x: m(x, x * 2), nn.Transformer(6, 2, 1, 1, 12, batch_first=True)), seq


def convolutions(img, s1, vol):
    c2 = nn.Conv2d
    for m, x in ((nn.Conv1d(4, 6, 3, padding=1), s1), (nn.Conv1d(4, 6, 4, padding="same"), s1),
                 (nn.Conv1d(4, 6, 3, padding=1, padding_mode="circular"), s1), (c2(4, 6, 3, padding="valid"), img),
                 (c2(4, 6, 3, padding=1, padding_mode="reflect"), img), (c2(4, 6, 3, dilation=2, groups=2, stride=2), img),
                 (c2(4, 6, 3, padding=1, padding_mode="replicate"), img), (nn.Conv3d(4, 6, 3), vol),
                 (nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1), s1), (nn.ConvTranspose3d(4, 6, 2, stride=2), vol),
                 (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1), img)):
        yield str(m), m, x
    yield "Conv2d without a batch", Call(lambda m, x: m(x[0])[None], c2(4, 6, 3)), img[:1]
    k = torch.arange(24.).reshape(3, 4, 2) * .1
    yield "F.conv1d", Call(lambda x: F.conv1d(x, k, stride=2, padding="valid")), s1
    yield "F.conv_transpose1d", Call(lambda x: F.conv_transpose1d(x, k.transpose(0, 1), stride=2)), s1
    for m in (nn.Unfold(3, padding=1), nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((8, 8), 2, stride=2)), nn.PixelShuffle(2),
              nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Flatten(), nn.Flatten(2), nn.Unflatten(1, (2, -1)),
              nn.ZeroPad2d((1, 2, 0, 3)), nn.ConstantPad2d(1, 2.5), nn.ReflectionPad2d(2), nn.ReplicationPad2d(2),
              nn.CircularPad2d(1), nn.ZeroPad2d(-1)):
        yield str(m), m, img


def pools(img, s1, vol):
    for o in (1, 2, 3, 5, (3, None), (7, 5)):
        yield "AdaptiveAvgPool2d %s" % (o, ), nn.AdaptiveAvgPool2d(o), img
        yield "AdaptiveMaxPool2d %s" % (o, ), nn.AdaptiveMaxPool2d(o), img
    for m, x in ((nn.AdaptiveAvgPool1d(4), s1), (nn.AdaptiveMaxPool1d(4), s1), (nn.AdaptiveAvgPool3d(4), vol),
                 (nn.AdaptiveAvgPool2d(16), img), (nn.MaxPool2d(2), img), (nn.MaxPool2d(3, 2, 1, ceil_mode=True), img),
                 (nn.MaxPool2d(2, dilation=2), img), (nn.AvgPool2d(2), img), (nn.MaxPool1d(3, 2), s1), (nn.MaxPool3d(2), vol),
                 (nn.AvgPool2d(3, 2, 1, count_include_pad=False), img), (nn.AvgPool2d(3, 2, 1, ceil_mode=True), img),
                 (nn.AvgPool2d(2, divisor_override=3), img), (nn.LPPool2d(2, 2), img), (nn.AvgPool1d(3, 2), s1),
                 (nn.AvgPool3d(2), vol)):
        yield str(m), m, x
    yield "F.max_pool2d", Call(lambda x: F.max_pool2d(x, 2, return_indices=True)[0]), img
    yield "MaxUnpool2d", Call(lambda a, b, x: b(*a(x)), nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)), img
    for kw in ({"scale_factor": 2}, {"size": (12, 10)}, {"scale_factor": 2, "mode": "bilinear"}, {"scale_factor": 1.5},
               {"scale_factor": 2, "mode": "bilinear", "align_corners": True}, {"scale_factor": 2, "mode": "bicubic"},
               {"size": 5, "mode": "nearest-exact"}, {"size": 5, "mode": "bilinear", "antialias": True},
               {"size": 5, "mode": "area"}):
        yield "interpolate %s" % kw, Call(lambda x, kw=kw: F.interpolate(x, **kw)), img
    for m, x in ((nn.Upsample(scale_factor=2, mode="linear"), s1), (nn.Upsample(scale_factor=2, mode="trilinear"), vol),
                 (nn.UpsamplingNearest2d(scale_factor=2), img), (nn.UpsamplingBilinear2d(scale_factor=2), img)):
        yield str(m), m, x


def norms(img, s1, vol, vec):
    for m, x in ((drawn(nn.BatchNorm1d(8)), vec), (drawn(nn.BatchNorm1d(4)), s1), (drawn(nn.BatchNorm2d(4)), img),
                 (drawn(nn.BatchNorm3d(4)), vol), (drawn(nn.BatchNorm2d(4, affine=False)), img), (nn.GroupNorm(2, 4), img),
                 (nn.GroupNorm(2, 4, affine=False), img), (nn.InstanceNorm2d(4), img), (nn.InstanceNorm1d(4, affine=True), s1),
                 (drawn(nn.InstanceNorm2d(4, track_running_stats=True)), img), (nn.LayerNorm(8), vec),
                 (nn.LayerNorm((8, 8)), img), (nn.LayerNorm(8, elementwise_affine=False), vec), (nn.LayerNorm(8, bias=False), vec),
                 (nn.RMSNorm(8), vec), (nn.LocalResponseNorm(2), img), (nn.Dropout(), vec), (nn.Dropout1d(), s1),
                 (nn.Dropout2d(), img), (nn.Dropout3d(), vol), (nn.AlphaDropout(), vec), (nn.FeatureAlphaDropout(), img)):
        yield str(m), m, x
    for m in (nn.utils.parametrizations.weight_norm(nn.Linear(8, 3)), nn.utils.parametrizations.spectral_norm(nn.Linear(8, 3)),
              nn.utils.weight_norm(nn.Linear(8, 3)), nn.Linear(8, 3, bias=False)):
        yield "%s of weights" % type(m).__name__, m, vec
    yield "Linear of rows", nn.Linear(8, 3), img
    yield "Bilinear", Call(lambda m, x: m(x, x), nn.Bilinear(8, 8, 3)), vec
    yield "CosineSimilarity", Call(lambda m, x: m(x, x + 1), nn.CosineSimilarity()), vec
    yield "PairwiseDistance", Call(lambda m, x: m(x, x.flip(1)), nn.PairwiseDistance()), vec


def activations(vec, img):
    for m in (nn.ReLU(), nn.ReLU6(), nn.Sigmoid(), nn.Tanh(), nn.SiLU(), nn.GELU(), nn.GELU("tanh"), nn.ELU(), nn.ELU(.5),
              nn.CELU(), nn.CELU(.7), nn.SELU(), nn.LeakyReLU(), nn.LeakyReLU(.2), nn.PReLU(), nn.PReLU(8), nn.RReLU(),
              nn.Softplus(), nn.Softplus(2, .5), nn.Softsign(), nn.Softmax(1), nn.Softmax(0), nn.LogSoftmax(1), nn.Softmin(1),
              nn.LogSigmoid(), nn.Hardtanh(), nn.Hardsigmoid(), nn.Hardswish(), nn.Hardshrink(), nn.Softshrink(), nn.Tanhshrink(),
              nn.Threshold(.1, 2.), nn.Mish(), nn.GLU(1), nn.ReLU(inplace=True), nn.Identity()):
        yield str(m), m, vec
    yield "Softmax2d", nn.Softmax2d(), img
    yield "PReLU of channels", nn.PReLU(4), img


def embeddings(ids):
    yield "Embedding", Call(lambda m, x: m(x).sum(1), nn.Embedding(20, 4)), ids
    yield "Embedding with pads", Call(lambda m, x: m(x).mean(1), nn.Embedding(20, 4, padding_idx=0)), ids
    for mode in ("mean", "sum", "max"):
        yield "EmbeddingBag " + mode, nn.EmbeddingBag(20, 4, mode=mode), ids
    yield "EmbeddingBag with pads", nn.EmbeddingBag(20, 4, padding_idx=3), ids
    yield "EmbeddingBag weighted", Call(lambda m, x, w: m(x, per_sample_weights=w), nn.EmbeddingBag(20, 4, mode="sum")), ids, (
        torch.rand(ids.shape))
    yield "mask of ids", Call(lambda m, x: m(x) * (x != 3).unsqueeze(-1).float(), nn.Embedding(20, 4)), ids
    yield "mean without pads", Call(lambda m, x: (m(x) * (x != 3).unsqueeze(-1)).sum(1) / (x != 3).sum(1, keepdim=True),
                                    nn.Embedding(20, 4)), ids
    yield "positions", Call(lambda m, p, x: m(x) + p(torch.arange(x.size(1))), nn.Embedding(20, 4), nn.Embedding(9, 4)), ids


class Marked(nn.Module):
    """Gives a mask to a module by place, as transformers' layers get theirs."""

    def __init__(self):
        super().__init__()
        self.inner = Call(lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m))
        self.ids = Call(lambda i: i.ne(3).int().cumsum(1) + i.gather(1, i * 0))

    def forward(self, x, pads, ids):
        rows, places = torch.arange(len(pads))[:, None, None], torch.arange(pads.shape[1])[None, None, :]
        keep = torch.ones((), dtype=torch.bool) & pads.to(dtype=torch.bool)[rows, places]
        return self.inner(x, keep.expand(-1, pads.shape[1], -1)) + self.ids(ids)[:, :, None]


def kinds(seq, ids):
    pads = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]])
    yield "truth and whole numbers through modules", Marked(), seq, pads, ids[:2]
    yield "mask joined", Call(lambda x, p: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.cat(
        [p[:, None, :3].bool(), p[:, None, 3:].bool()], 2))), seq, pads
    yield "empty parts", Call(lambda x: torch.cat([torch.tensor([]), x], -2)), seq
    yield "both lists", Call(lambda x: x[:, [0, 3, -1], [1, 2, 5]]), seq
    yield "tensors of places", Call(lambda x: x[:, torch.tensor([[0], [-2]]), torch.tensor([[1, 4]])]), seq


def put(x, at, value):
    y = x.clone()
    y[at] = value
    return y


def in_place(x):
    y = x.clone()
    y += 1
    y.mul_(2).add_(x)
    return torch.relu_(y)


#: Functions of [3, 8].
FUNCTIONS = {
    "einsum outer": lambda x: torch.einsum("bi,bj->bij", x, x), "einsum sum": lambda x: torch.einsum("bi,ij->b", x, torch.eye(8)),
    "einsum three": lambda x: torch.einsum("bi,ij,bj->b", x, torch.ones(8, 8), x), "norm": lambda x: x.norm(dim=1),
    "norm 1": lambda x: x.norm(1, 1), "norm inf": lambda x: x.norm(float("inf"), 1), "F.normalize": lambda x: F.normalize(x, dim=1),
    "linalg.norm": lambda x: torch.linalg.norm(x, dim=1), "vector_norm": lambda x: torch.linalg.vector_norm(x, 3, dim=1),
    "std": lambda x: x.std(1), "var": lambda x: x.var(1, keepdim=True), "var biased": lambda x: x.var(1, unbiased=False),
    "var 2": lambda x: torch.var(x, dim=1, correction=0), "topk": lambda x: x.topk(2, 1)[0], "sort": lambda x: x.sort(1)[0],
    "sort down": lambda x: torch.sort(x, 1, True).values, "max": lambda x: x.max(1)[0], "max values": lambda x: x.max(dim=1).values,
    "median": lambda x: x.median(1)[0], "amax": lambda x: x.amax(1), "amin 2": lambda x: x.reshape(-1, 2, 4).amin((1, 2)),
    "argmax": lambda x: x.argmax(1).float() + x[:, 0], "any": lambda x: x * (x > 1).any(1, keepdim=True),
    "all": lambda x: x * (x > -1).all(1, keepdim=True), "masked_fill": lambda x: x.masked_fill(x < 0, -1.),
    "masked_fill inf": lambda x: x.masked_fill(torch.arange(8) > 3, float("-inf")).softmax(1),
    "tril": lambda x: torch.tril(x[:, :, None] * x[:, None, :]), "triu": lambda x: torch.triu(x[:, :, None] * x[:, None, :], 1),
    "roll": lambda x: torch.roll(x, 1, 1), "flip": lambda x: x.flip(1), "repeat": lambda x: x.repeat(1, 2),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1), "tile": lambda x: torch.tile(x, (1, 2)),
    "gather": lambda x: x.gather(1, x.argmax(1, keepdim=True)), "index_select": lambda x: x.index_select(1, torch.tensor([0, 3])),
    "list index": lambda x: x[:, [0, 3]], "tensor index": lambda x: x[:, torch.tensor([[0, 3], [1, 2]])],
    "step index": lambda x: x[:, ::2], "narrow": lambda x: x.narrow(1, 2, 3), "select": lambda x: x.select(1, 2),
    "unfold": lambda x: x.unfold(1, 3, 2), "movedim": lambda x: x[:, :, None].movedim(1, 2), "mT": lambda x: x[:, :, None].mT,
    "swapaxes": lambda x: x[:, :, None].swapaxes(1, 2), "unflatten": lambda x: x.unflatten(1, (2, -1)),
    "view_as": lambda x: x.view_as(x * 2), "baddbmm": lambda x: torch.baddbmm(x[:, :, None], x[:, :, None], x[:, None, :1]),
    "addmm": lambda x: torch.addmm(x, x, torch.eye(8), beta=2), "mv": lambda x: torch.mv(x, torch.arange(8.)),
    "clamp": lambda x: x.clamp(-.5, .5), "clamp_min": lambda x: x.clamp_min(0), "floor_divide": lambda x: x // .3,
    "remainder": lambda x: x % .3, "where": lambda x: torch.where(x > 0, x, 0.), "where not": lambda x: torch.where(~(x > 0), x, -x),
    "where and": lambda x: torch.where((x > 0) & (x < 1), x, -x), "equal": lambda x: x * (x.round() == 0), "prod": lambda x: x.prod(1),
    "cumsum": lambda x: x.cumsum(1), "cumprod": lambda x: x.cumprod(1), "zeros_like": lambda x: x + torch.zeros_like(x),
    "full_like": lambda x: x * torch.full_like(x, 2.), "new_zeros": lambda x: torch.cat([x, x.new_zeros(x.shape[0], 1)], 1),
    "zeros": lambda x: torch.cat([x, torch.zeros(x.size(0), 1)], 1), "arange": lambda x: x * torch.arange(x.shape[1]),
    "one_hot": lambda x: F.one_hot(x.argmax(1), 8) * x, "pow": lambda x: x**3, "rpow": lambda x: 2**x, "rdiv": lambda x: 1 / (x + 9),
    "rsub": lambda x: 1 - x, "other first": lambda x: torch.arange(8.) - x, "atan2": lambda x: torch.atan2(x, x + 5),
    "hypot": lambda x: torch.hypot(x, x), "log2": lambda x: torch.log2(x.abs() + 1), "log10": lambda x: torch.log10(x.abs() + 1),
    "logaddexp": lambda x: torch.logaddexp(x, x * 2), "logsumexp": lambda x: x.logsumexp(1), "lerp": lambda x: torch.lerp(x, x * 2, .3),
    "stack": lambda x: torch.stack([x, x], 1), "hstack": lambda x: torch.hstack([x, x]), "chunk": lambda x: x.chunk(3, 1)[2],
    "split": lambda x: x.split([3, 5], 1)[1], "tensor_split": lambda x: x.tensor_split(3, 1)[0], "cdist": lambda x: torch.cdist(
        x.reshape(-1, 2, 4), x.reshape(-1, 2, 4)), "nan_to_num": lambda x: torch.nan_to_num(x / x * x), "detach": lambda x: x.detach() * x,
    "to": lambda x: x.to(torch.float32), "type": lambda x: x.type(torch.FloatTensor), "double": lambda x: x.double().float(),
    "F.glu": lambda x: F.glu(x, 1), "F.mse_loss": lambda x: F.mse_loss(x, x * 2, reduction="none"), "mean": lambda x: x.mean(dim=1),
    "diagonal": lambda x: torch.diagonal(x[:, :, None] * x[:, None, :], dim1=1, dim2=2), "tensordot": lambda x: torch.tensordot(
        x, torch.eye(8), 1), "t": lambda x: (x.T @ x).reshape(1, 8, 8), "scalar": lambda x: x * torch.tensor(2.) / x.shape[-1]**.5,
    "put": lambda x: put(x, (slice(None), 0), 0.), "put tensor": lambda x: put(x, (slice(None), slice(2, 4)), x[:, :2] * 3),
    "put mask": lambda x: put(x, x > 0, 1.), "in place": in_place, "len": lambda x: x[..., None].squeeze(-1) * x.dim(),
}


def cases():
    """(name, module, inputs...)"""
    torch.manual_seed(0)
    img, seq, vec, s1 = torch.randn(2, 4, 8, 8), torch.randn(2, 5, 6), torch.randn(3, 8), torch.randn(2, 4, 9)
    vol, ids = torch.randn(2, 4, 6, 6, 6), torch.randint(0, 20, (3, 5))
    yield from recurrent(seq)
    yield from attention(seq)
    yield from convolutions(img, s1, vol)
    yield from pools(img, s1, vol)
    yield from norms(img, s1, vol, vec)
    yield from activations(vec, img)
    yield from embeddings(ids)
    yield from kinds(seq, ids)
    for name, function in FUNCTIONS.items():
        yield name, Call(function), vec


#: What is refused, and a word of the reason.
REFUSED = {
    "train": (lambda: nn.Sequential(nn.BatchNorm1d(8, track_running_stats=False)), "vec", "eval"),
    "fractional": (lambda: nn.FractionalMaxPool2d(2, output_size=4), "img", "fractional_max_pool2d"),
    "if": (lambda: Call(lambda x: x if x.sum() > 0 else -x), "vec", "where"),
    "item": (lambda: Call(lambda x: x * x[0, 0].item()), "vec", "item"),
    "max_norm": (lambda: nn.Embedding(20, 4, max_norm=.5), "ids", "max_norm"),
    "offsets": (lambda: Call(lambda m, x: m(x.reshape(-1), torch.tensor([0, 5])), nn.EmbeddingBag(20, 4)), "ids", "offsets"),
    "bias_kv": (lambda: Call(lambda m, x: m(x, x, x)[0], nn.MultiheadAttention(6, 2, add_bias_kv=True)), "seq", "add_bias_kv"),
    "packed": (lambda: Call(lambda m, x: m(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5])))[0], nn.LSTM(6, 7)), "seq", ""),
    "view": (lambda: Call(lambda x: x[:, :2].add_(1) + x[:, :2]), "vec", "in place"),
    "nearly": (lambda: Call(lambda x: torch.kron(x, x)), "vec", "kron"),
}
