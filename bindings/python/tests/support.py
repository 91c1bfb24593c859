"""What the tests share: paths, small models, the command line, an ONNX file written by hand."""
import json
import os
import signal
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DATA = os.path.join(ROOT, "tests", "data")
BUILD = os.environ.get("ASC_BUILD", os.path.join(ROOT, "build"))
PROGRAM = os.path.join(BUILD, "ascribe")
DECODER = os.path.join(DATA, "goldens", "zoo_gguf", "llama-q8_0", "model.gguf")
CLASSIFIER = os.path.join(DATA, "encoders", "xlm-roberta")
FOLDER = os.path.join(DATA, "hf", "llama-llama3")
REAL = os.environ.get("ASC_MODEL", "")  # SmolLM2, "" = not here
IDS = [5, 14, 11, 9, 18, 3, 7, 12, 10]
#: Seconds, against hanging only: a machine may be slow, and busy.
PATIENCE = 600
#: What two runs of one question may differ in.
CLOCKS = ("seconds", "predicted_seconds", "predicted_least_seconds", "peak_bytes", "predicted_peak_bytes")


def cli(*args):
    """The JSON document that the command line prints."""
    done = subprocess.run([PROGRAM, *args, "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise AssertionError("ascribe %s: %s" % (" ".join(args), done.stderr.decode()))
    text = done.stdout.decode()
    return json.loads(text[text.index("{\n"):])


def same_document(test, a, b):
    """Equal but for what the clock says."""
    a, b = ({k: v for k, v in d.items() if k not in CLOCKS} for d in (a, b))
    test.assertEqual(json.dumps(a, sort_keys=True), json.dumps(b, sort_keys=True))


def _hears_ctrl_c():
    """What a shell starts in the background ignores it, and hands that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def python(code, **env):
    """Another Python with the same package; (exit code, what it printed)."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **env}, timeout=PATIENCE, check=False, preexec_fn=_hears_ctrl_c)
    return done.returncode, done.stdout


def press():
    """Ctrl-C, when this process has worked for a while since."""
    begun = time.process_time()
    while time.process_time() < begun + 0.2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


# ---- an ONNX file: protobuf fields by number ----


def _varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def _bytes(field, data):
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _int(field, n):
    return _varint(field << 3) + _varint(n)


def _tensor(name, dims, values):
    return (b"".join(_int(1, d) for d in dims) + _int(2, 1) + _bytes(8, name)
            + _bytes(9, struct.pack("<%df" % len(values), *values)))


def _port(name, dims):
    shape = b"".join(_bytes(1, _bytes(2, d) if isinstance(d, str) else _int(1, d)) for d in dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, _int(1, 1) + _bytes(2, shape)))


def _node(op, inputs, outputs):
    return b"".join(_bytes(1, i) for i in inputs) + b"".join(_bytes(2, o) for o in outputs) + _bytes(4, op)


def mlp_weights():
    """8 -> 12 -> 10 -> 3; the same everywhere."""
    state, out = 12345, {}
    for name, dims in (("w0", (8, 12)), ("b0", (12, )), ("w1", (12, 10)), ("b1", (10, )), ("w2", (10, 3)), ("b2", (3, ))):
        n = 1
        for d in dims:
            n *= d
        values = []
        for _ in range(n):
            state = (state * 1103515245 + 12345) % 2**31
            values.append(round(state / 2**30 - 1.0, 4))
        out[name] = (dims, values)
    return out


def write_mlp(path):
    """relu(relu(x w0 + b0) w1 + b1) w2 + b2 with x [N,8]."""
    nodes, at = b"", "x"
    for i in range(3):
        nodes += _bytes(1, _node("MatMul", [at, "w%d" % i], ["m%d" % i]))
        nodes += _bytes(1, _node("Add", ["m%d" % i, "b%d" % i], ["logits" if i == 2 else "a%d" % i]))
        if i < 2:
            nodes += _bytes(1, _node("Relu", ["a%d" % i], ["r%d" % i]))
        at = "r%d" % i
    weights = b"".join(_bytes(5, _tensor(n, d, v)) for n, (d, v) in mlp_weights().items())
    graph = nodes + _bytes(2, "mlp") + weights + _bytes(11, _port("x", ["N", 8])) + _bytes(12, _port("logits", ["N", 3]))
    model = _int(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _int(2, 13))
    with open(path, "wb") as f:
        f.write(model)
    return path
