# Written by scripts/gen-python-ops.py from include/ascribe/ops.def: change that.
"""The ops that a tensor of a net has as methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from . import _ascribe

NUMBERS: dict[str, int] = {name: i for i, (name, _) in enumerate(_ascribe.op_table())}


Operand = Any  # a tensor of the same run, a number or an array of numbers


class TensorOps:
    """Methods that call one op each; the last column of docs/ops.md says what they do."""

    __slots__ = ()

    def _op(self, op: int, *args: Any) -> Self:
        raise NotImplementedError

    def _lift(self, value: Operand) -> int:
        raise NotImplementedError

    @property
    def _number(self) -> int:
        raise NotImplementedError

    def maximum(self, b: Operand) -> Self:
        """Larger of two values, with broadcasting; NaN wins; the gradient of equals goes to a."""
        return self._op(NUMBERS["maximum"], self._number, self._lift(b))

    def minimum(self, b: Operand) -> Self:
        """Smaller of two values, with broadcasting; NaN wins; the gradient of equals goes to a."""
        return self._op(NUMBERS["minimum"], self._number, self._lift(b))

    def scale(self, factor: float) -> Self:
        """Product with a number that may change from call to call."""
        return self._op(NUMBERS["scale"], self._number, factor)

    def shift(self, addend: float) -> Self:
        """Sum with a number that may change from call to call."""
        return self._op(NUMBERS["shift"], self._number, addend)

    def trunc_div(self, b: Operand) -> Self:
        """Quotient cut towards 0, with broadcasting: division of whole numbers."""
        return self._op(NUMBERS["trunc_div"], self._number, self._lift(b))

    def atan2(self, b: Operand) -> Self:
        """Angle of the point (b, a) in radians, with broadcasting."""
        return self._op(NUMBERS["atan2"], self._number, self._lift(b))

    def bitwise(self, b: Operand, kind: int) -> Self:
        """And, or, xor, left and right shift of whole numbers held in floats, with broadcasting."""
        return self._op(NUMBERS["bitwise"], self._number, self._lift(b), kind)

    def recip(self) -> Self:
        """Reciprocal; 1 / 0 gives inf."""
        return self._op(NUMBERS["recip"], self._number)

    def sign(self) -> Self:
        """Sign: -1, 0 or 1; NaN stays NaN."""
        return self._op(NUMBERS["sign"], self._number)

    def square(self) -> Self:
        """Square."""
        return self._op(NUMBERS["square"], self._number)

    def sqrt(self) -> Self:
        """Square root; NaN for negative numbers; the gradient at 0 is inf."""
        return self._op(NUMBERS["sqrt"], self._number)

    def rsqrt(self) -> Self:
        """Reciprocal square root; inf at 0, NaN for negative numbers."""
        return self._op(NUMBERS["rsqrt"], self._number)

    def exp(self) -> Self:
        """Exponential; overflow gives inf."""
        return self._op(NUMBERS["exp"], self._number)

    def log(self) -> Self:
        """Natural logarithm; -inf at 0, NaN for negative numbers."""
        return self._op(NUMBERS["log"], self._number)

    def sin(self) -> Self:
        """Sine of radians; NaN for infinities."""
        return self._op(NUMBERS["sin"], self._number)

    def cos(self) -> Self:
        """Cosine of radians; NaN for infinities."""
        return self._op(NUMBERS["cos"], self._number)

    def floor(self) -> Self:
        """Largest whole number not above a."""
        return self._op(NUMBERS["floor"], self._number)

    def ceil(self) -> Self:
        """Smallest whole number not below a."""
        return self._op(NUMBERS["ceil"], self._number)

    def round(self) -> Self:
        """Nearest whole number, the even one of two equally near."""
        return self._op(NUMBERS["round"], self._number)

    def tan(self) -> Self:
        """Tangent of radians; NaN for infinities."""
        return self._op(NUMBERS["tan"], self._number)

    def asin(self) -> Self:
        """Arcsine in radians; NaN outside [-1, 1]."""
        return self._op(NUMBERS["asin"], self._number)

    def acos(self) -> Self:
        """Arccosine in radians; NaN outside [-1, 1]."""
        return self._op(NUMBERS["acos"], self._number)

    def atan(self) -> Self:
        """Arctangent in radians."""
        return self._op(NUMBERS["atan"], self._number)

    def sinh(self) -> Self:
        """Hyperbolic sine."""
        return self._op(NUMBERS["sinh"], self._number)

    def cosh(self) -> Self:
        """Hyperbolic cosine."""
        return self._op(NUMBERS["cosh"], self._number)

    def asinh(self) -> Self:
        """Inverse hyperbolic sine."""
        return self._op(NUMBERS["asinh"], self._number)

    def acosh(self) -> Self:
        """Inverse hyperbolic cosine; NaN below 1."""
        return self._op(NUMBERS["acosh"], self._number)

    def atanh(self) -> Self:
        """Inverse hyperbolic tangent; NaN outside [-1, 1]."""
        return self._op(NUMBERS["atanh"], self._number)

    def expm1(self) -> Self:
        """Exponential minus 1, exact near 0."""
        return self._op(NUMBERS["expm1"], self._number)

    def log1p(self) -> Self:
        """Natural logarithm of 1 + a, exact near 0; NaN below -1."""
        return self._op(NUMBERS["log1p"], self._number)

    def clip(self, lo: float, hi: float) -> Self:
        """Values cut to lo..hi; NaN stays NaN; the gradient at the ends is 0."""
        return self._op(NUMBERS["clip"], self._number, lo, hi)

    def tanh(self) -> Self:
        """Hyperbolic tangent."""
        return self._op(NUMBERS["tanh"], self._number)

    def sigmoid(self) -> Self:
        """Logistic function."""
        return self._op(NUMBERS["sigmoid"], self._number)

    def erf(self) -> Self:
        """Error function."""
        return self._op(NUMBERS["erf"], self._number)

    def relu(self) -> Self:
        """Positive part; NaN stays NaN; the gradient at 0 is 0."""
        return self._op(NUMBERS["relu"], self._number)

    def silu(self) -> Self:
        """Sigmoid-weighted linear unit (swish); 0 at -inf."""
        return self._op(NUMBERS["silu"], self._number)

    def gelu(self) -> Self:
        """Gaussian error linear unit, exact form; 0 at -inf."""
        return self._op(NUMBERS["gelu"], self._number)

    def gelu_tanh(self) -> Self:
        """Gaussian error linear unit, tanh form; 0 at -inf."""
        return self._op(NUMBERS["gelu_tanh"], self._number)

    def softplus(self) -> Self:
        """Smooth form of the positive part."""
        return self._op(NUMBERS["softplus"], self._number)

    def softsign(self) -> Self:
        """Softsign; NaN for infinities."""
        return self._op(NUMBERS["softsign"], self._number)

    def mish(self) -> Self:
        """Mish; 0 at -inf."""
        return self._op(NUMBERS["mish"], self._number)

    def hard_swish(self) -> Self:
        """Piecewise form of silu; 0 at -inf."""
        return self._op(NUMBERS["hard_swish"], self._number)

    def elu(self, alpha: float = 1.0) -> Self:
        """Exponential linear unit; the gradient at 0 is alpha."""
        return self._op(NUMBERS["elu"], self._number, alpha)

    def celu(self, alpha: float = 1.0) -> Self:
        """Exponential linear unit with a continuous slope."""
        return self._op(NUMBERS["celu"], self._number, alpha)

    def leaky_relu(self, alpha: float = 0.01) -> Self:
        """Positive part plus alpha times the negative part; the gradient at 0 is alpha."""
        return self._op(NUMBERS["leaky_relu"], self._number, alpha)

    def selu(self, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Self:
        """Scaled exponential linear unit."""
        return self._op(NUMBERS["selu"], self._number, alpha, gamma)

    def hard_sigmoid(self, alpha: float = 1 / 6, beta: float = 0.5) -> Self:
        """A line cut to 0..1; NaN stays NaN."""
        return self._op(NUMBERS["hard_sigmoid"], self._number, alpha, beta)

    def prelu(self, slope: Operand) -> Self:
        """Positive part plus a slope times the negative part, with broadcasting; at 0 the slope counts."""
        return self._op(NUMBERS["prelu"], self._number, self._lift(slope))

    def swiglu(self, up: Operand) -> Self:
        """Gated linear unit with silu; gate and up have one shape."""
        return self._op(NUMBERS["swiglu"], self._number, self._lift(up))

    def equal(self, b: Operand) -> Self:
        """1 where a equals b, else 0, with broadcasting; NaN equals nothing."""
        return self._op(NUMBERS["equal"], self._number, self._lift(b))

    def less(self, b: Operand) -> Self:
        """1 where a is less than b, else 0, with broadcasting; false with NaN."""
        return self._op(NUMBERS["less"], self._number, self._lift(b))

    def less_equal(self, b: Operand) -> Self:
        """1 where a is at most b, else 0, with broadcasting; false with NaN."""
        return self._op(NUMBERS["less_equal"], self._number, self._lift(b))

    def logical_and(self, b: Operand) -> Self:
        """1 where both a and b are not 0, else 0, with broadcasting; NaN counts as true."""
        return self._op(NUMBERS["logical_and"], self._number, self._lift(b))

    def logical_or(self, b: Operand) -> Self:
        """1 where a or b is not 0, else 0, with broadcasting; NaN counts as true."""
        return self._op(NUMBERS["logical_or"], self._number, self._lift(b))

    def logical_xor(self, b: Operand) -> Self:
        """1 where exactly one of a and b is not 0, else 0, with broadcasting; NaN counts as true."""
        return self._op(NUMBERS["logical_xor"], self._number, self._lift(b))

    def logical_not(self) -> Self:
        """1 where a is 0, else 0; NaN counts as true."""
        return self._op(NUMBERS["logical_not"], self._number)

    def is_nan(self) -> Self:
        """1 where a is NaN, else 0."""
        return self._op(NUMBERS["is_nan"], self._number)

    def is_inf(self, positive: bool = True, negative: bool = True) -> Self:
        """1 where a is infinite with a sign that counts, else 0."""
        return self._op(NUMBERS["is_inf"], self._number, positive, negative)

    def straight_through(self, carrier: Operand) -> Self:
        """One value forwards, another's gradient backwards: rounding with a straight-through gradient."""
        return self._op(NUMBERS["straight_through"], self._number, self._lift(carrier))

    def arg_max(self, axis: int = -1) -> Self:
        """Position of the largest value along an axis, as i32; the first of equals, or the last; NaN wins."""
        return self._op(NUMBERS["arg_max"], self._number, axis)

    def arg_min(self, axis: int = -1) -> Self:
        """Position of the smallest value along an axis, as i32; the first of equals, or the last; NaN wins."""
        return self._op(NUMBERS["arg_min"], self._number, axis)

    def top_k(self, k: int, largest: bool = False) -> Self:
        """Positions of the k largest or smallest values of each row, as i32, best first; NaN is largest."""
        return self._op(NUMBERS["top_k"], self._number, k, largest)

    def cumsum(self, axis: int, exclusive: bool = False, reverse: bool = False) -> Self:
        """Running sums along an axis, with or without the element itself, from either end."""
        return self._op(NUMBERS["cumsum"], self._number, axis, exclusive, reverse)

    def pad(self, axis: int, before: int, after: int) -> Self:
        """Zeros before and after an axis."""
        return self._op(NUMBERS["pad"], self._number, axis, before, after)

    def gather(self, index: Operand) -> Self:
        """Rows of a table by i32 indices; indices outside read the nearest row, so check them before."""
        return self._op(NUMBERS["gather"], self._number, self._lift(index))

    def scatter_add(self, index: Operand, n: int) -> Self:
        """Rows added up in the rows of the result that the indices name; the transpose of gather."""
        return self._op(NUMBERS["scatter_add"], self._number, self._lift(index), n)

    def take_last(self, index: Operand) -> Self:
        """One element of each row, by i32 indices; indices outside read the nearest, so check them before."""
        return self._op(NUMBERS["take_last"], self._number, self._lift(index))

    def put_last(self, index: Operand, n: int) -> Self:
        """Zeros but for one element of each row; the transpose of take_last."""
        return self._op(NUMBERS["put_last"], self._number, self._lift(index), n)

    def take_along(self, index: Operand, axis: int = -1) -> Self:
        """Elements chosen along an axis by i32 indices; indices outside read the nearest, so check them before."""
        return self._op(NUMBERS["take_along"], self._number, self._lift(index), axis)

    def put_along(self, index: Operand, axis: int, shape: Sequence[int]) -> Self:
        """Values added up in zeros at the places along an axis that indices name; the transpose of take_along."""
        return self._op(NUMBERS["put_along"], self._number, self._lift(index), axis, shape)

    def matmul_bias(self, b: Operand, bias: Operand, ta: bool = False, tb: bool = False) -> Self:
        """Matrix product over the last two axes plus a bias for each column: a whole linear layer."""
        return self._op(NUMBERS["matmul_bias"], self._number, self._lift(b), self._lift(bias), ta, tb)

    def expert_matmul(self, w: Operand, index: Operand, tw: bool = False) -> Self:
        """Each row times a matrix of a stack that its i32 index names: the experts of a mixture."""
        return self._op(NUMBERS["expert_matmul"], self._number, self._lift(w), self._lift(index), tw)

    def rms_norm(self, weight: Operand, eps: float = 1e-5) -> Self:
        """Rows divided by their root mean square, columns scaled by a weight."""
        return self._op(NUMBERS["rms_norm"], self._number, self._lift(weight), eps)

    def layer_norm(self, weight: Operand, bias: Operand, eps: float = 1e-5) -> Self:
        """Rows shifted to mean 0 and scaled to variance 1, then weighted and shifted by column."""
        return self._op(NUMBERS["layer_norm"], self._number, self._lift(weight), self._lift(bias), eps)

    def rope(
        self, pos: Operand, inv_freq: Operand, interleaved: bool = False, inverse: bool = False, mscale: float = 1.0
    ) -> Self:
        """Rotary position embedding: pairs of columns of each head turned by position times frequency."""
        return self._op(
            NUMBERS["rope"], self._number, self._lift(pos), self._lift(inv_freq), interleaved, inverse, mscale
        )

    def sdpa(
        self, k: Operand, v: Operand, scale: float, causal: bool = False, window: int = 0, cap: float = 0.0
    ) -> Self:
        """Scaled dot-product attention with grouped key heads, causal mask, sliding window and score cap."""
        return self._op(
            NUMBERS["sdpa"], self._number, self._lift(k), self._lift(v), scale, causal, window, cap
        )

    def pool_take(self, index: Operand) -> Self:
        """Elements of spatial planes by i32 indices (from max_pool_index); 0 for indices outside."""
        return self._op(NUMBERS["pool_take"], self._number, self._lift(index))

    def pool_put(self, index: Operand, size: Sequence[int]) -> Self:
        """Values added up at i32 indices of zero planes: the transpose of pool_take."""
        return self._op(NUMBERS["pool_put"], self._number, self._lift(index), size)
