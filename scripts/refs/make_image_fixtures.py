#!/usr/bin/env python3
"""Makes tests/data/image/: pictures in many encodings, and the SHA-256 of the RGB bytes that Pillow makes of them.

usage: make_image_fixtures.py tests/data/image      (Pillow 13.0, numpy; torch for the normalised arrays)
"""
import hashlib
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image

out = sys.argv[1]
rng = np.random.default_rng(7)
lines = []


def path(name):
    return os.path.join(out, name)


def sha(a):
    return hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()


def photo(w, h):
    y, x = np.mgrid[0:h, 0:w].astype(float)
    a = np.stack([127 + 120 * np.sin(x / 5) * np.cos(y / 7), 255 * ((x // 8 + y // 8) % 2),
                  255 * y / max(h - 1, 1)], -1)
    return np.clip(a + rng.normal(0, 18, a.shape), 0, 255).astype(np.uint8)


def raw_png(name, w, h, depth, colour, rows, extra=(), adam7=False):
    """A PNG by hand: rows(list of bytes), or a function (ys, xs) -> list of rows for the seven passes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    body = b""
    if adam7:
        for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                               (0, 1, 1, 2)):
            xs, ys = range(x0, w, dx), range(y0, h, dy)
            if len(xs) and len(ys):
                body += b"".join(b"\0" + r for r in rows(ys, xs))
    else:
        body = b"".join(b"\0" + r for r in rows)
    head = struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, int(adam7))
    with open(path(name), "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(k, d) for k, d in extra) +
                chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))


def decoded(name, rgb):
    lines.append("decode %s %d %d %s" % (name, rgb.shape[1], rgb.shape[0], sha(rgb)))


def by_pillow(name):
    im = Image.open(path(name))
    if im.mode in ("RGBA", "LA", "PA") or "transparency" in im.info:
        im = im.convert("RGBA")
        white = Image.new("RGB", im.size, (255, 255, 255))
        white.paste(im.convert("RGB"), mask=im.getchannel("A"))
        im = white
    decoded(name, np.asarray(im.convert("RGB")))


src = photo(61, 43)
im = Image.fromarray(src)
im.save(path("rgb.png"))
im.convert("L").save(path("grey.png"))
im.convert("1").save(path("grey1.png"))
im.quantize(13).save(path("palette4.png"), bits=4)
im.quantize(200).save(path("palette8.png"), transparency=bytes(range(0, 200)))
rgba = im.convert("RGBA")
rgba.putalpha(Image.fromarray(photo(61, 43)[:, :, 0]))
rgba.save(path("rgba.png"))
rgba.convert("LA").save(path("la.png"))
im.save(path("trns.png"), transparency=tuple(int(v) for v in src[5, 5]))
exif = Image.Exif()
exif[0x0112] = 6
im.save(path("exif.png"), exif=exif)
for n in ("rgb", "grey", "grey1", "palette4", "palette8", "rgba", "la", "trns", "exif"):
    by_pillow(n + ".png")
small = photo(21, 13)
raw_png("adam7.png", 21, 13, 8, 2, lambda ys, xs: [small[y, list(xs)].tobytes() for y in ys], adam7=True)
by_pillow("adam7.png")
deep = rng.integers(0, 65536, (13, 21, 3), dtype=np.uint16)
raw_png("rgb16.png", 21, 13, 16, 2, [deep[y].astype(">u2").tobytes() for y in range(13)])
by_pillow("rgb16.png")
raw_png("grey16.png", 21, 13, 16, 0, [deep[y, :, 0].astype(">u2").tobytes() for y in range(13)])
decoded("grey16.png", np.repeat((deep[:, :, :1] >> 8).astype(np.uint8), 3, -1))
raw_png("gamma.png", 21, 13, 8, 2, [small[y].tobytes() for y in range(13)], [(b"gAMA", struct.pack(">I", 100000))])
by_pillow("gamma.png")
raw_png("one.png", 1, 1, 8, 2, [b"\x01\x02\x03"])
by_pillow("one.png")

for name, kw in (("q95_444.jpg", dict(quality=95, subsampling=0)), ("q75_420.jpg", dict(quality=75)),
                 ("q50_422.jpg", dict(quality=50, subsampling=1)), ("progressive.jpg", dict(progressive=True)),
                 ("restart.jpg", dict(restart_marker_rows=1)), ("exif.jpg", dict(exif=exif))):
    im.save(path(name), **kw)
    by_pillow(name)
im.convert("L").save(path("grey.jpg"))
im.convert("CMYK").save(path("cmyk.jpg"))
for n in ("grey.jpg", "cmyk.jpg"):
    by_pillow(n)

FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS, "box": Image.BOX,
           "nearest": Image.NEAREST}
for name, f in FILTERS.items():
    for w, h in ((30, 20), (61, 17), (13, 43), (122, 90), (64, 64), (1, 1), (7, 300), (224, 224)):
        lines.append("resize %s %d %d %s" % (name, w, h, sha(np.asarray(im.resize((w, h), f)))))


def short_side(picture, side, f):
    w, h = picture.size
    size = (side, int(side * h / w)) if w <= h else (int(side * w / h), side)
    return picture.resize(size, f)


def middle(picture, w, h):
    left, top = int(round((picture.size[0] - w) / 2)), int(round((picture.size[1] - h) / 2))
    return picture.crop((left, top, left + w, top + h))


for side in (32, 50, 17):
    lines.append("short bicubic %d %d %s" % (side, 0, sha(np.asarray(short_side(im, side, Image.BICUBIC)))))
for w, h in ((60, 40), (58, 43), (59, 41), (1, 1), (61, 43)):
    lines.append("crop - %d %d %s" % (w, h, sha(np.asarray(middle(im, w, h)))))

import torch  # noqa: E402
PRESETS = {"imagenet": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
           "clip": ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
           "half": ([0.5] * 3, [0.5] * 3), "unit": None, "none": None}
cut = np.asarray(middle(short_side(im, 32, Image.BICUBIC), 28, 30))
for name, p in PRESETS.items():
    t = torch.from_numpy(cut.copy()).permute(2, 0, 1).to(torch.float32)
    if name != "none":
        t = t.div(255)
    if p is not None:
        t = t.sub_(torch.tensor(p[0]).view(3, 1, 1)).div_(torch.tensor(p[1]).view(3, 1, 1))
    lines.append("prep %s nchw 0 %s" % (name, sha(t.numpy())))
    lines.append("prep %s nhwc 0 %s" % (name, sha(t.permute(1, 2, 0).numpy())))
    lines.append("prep %s bgr 0 %s" % (name, sha(t.flip(0).numpy())))
grey = np.asarray(Image.fromarray(cut).convert("L"))
lines.append("prep unit grey 0 %s" % sha(torch.from_numpy(grey.copy()).to(torch.float32).div(255).numpy()))
with open(path("cases.txt"), "w") as f:
    f.write("# Made by scripts/refs/make_image_fixtures.py with Pillow, numpy and torch: SHA-256 of the bytes.\n")
    f.write("\n".join(lines) + "\n")
