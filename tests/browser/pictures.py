#!/usr/bin/env python3
"""Makes the pictures of the page for the documentation: pictures.py --to DIR KIND=URL... (scripts/page-pictures.sh).

A picture is cut to what it shows and stored with a palette of 256 colours, which makes it a third as large.
"""
import argparse
import base64
import collections
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import chrome  # noqa: E402


def rows_of(png):
    """Width, height, bytes of a pixel and the rows of an 8-bit PNG without interlace (what Chromium writes)."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    at, data = 8, b""
    while at < len(png):
        n, name = struct.unpack(">I4s", png[at:at + 8])
        if name == b"IDAT":
            data += png[at + 8:at + 8 + n]
        at += 12 + n
    raw, bpp = zlib.decompress(data), 3 if kind == 2 else 4
    size, above, rows = width * bpp, bytearray(width * bpp), []
    for y in range(height):
        how, row = raw[y * (size + 1)], bytearray(raw[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for i in range(size):
            a = row[i - bpp] if i >= bpp else 0
            b = above[i]
            if how == 1:
                row[i] = (row[i] + a) & 255
            elif how == 2:
                row[i] = (row[i] + b) & 255
            elif how == 3:
                row[i] = (row[i] + (a + b) // 2) & 255
            elif how == 4:
                c = above[i - bpp] if i >= bpp else 0
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                row[i] = (row[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        rows.append(row)
        above = row
    return width, height, bpp, rows


def with_palette(png):
    width, height, bpp, rows = rows_of(png)
    pixels = [[bytes(r[i:i + 3]) for i in range(0, width * bpp, bpp)] for r in rows]
    seen = collections.Counter(c for r in pixels for c in r)
    palette = [c for c, _ in seen.most_common(256)]
    index = {c: i for i, c in enumerate(palette)}
    for c in seen:  # the rest: the nearest one
        if c not in index:
            index[c] = min(range(len(palette)), key=lambda i: sum((x - y) ** 2 for x, y in zip(c, palette[i])))
    data = b"".join(b"\0" + bytes(index[c] for c in r) for r in pixels)

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def cut(p, path, first, last, margin=16):
    """From the top of one element to the bottom of another."""
    x, y, w, h = p.js("""(() => { const a = document.querySelector(%r).getBoundingClientRect(), b = [...document.querySelectorAll(%r)]
        .map((e) => e.getBoundingClientRect().bottom); return [0, a.top + scrollY - %d, document.documentElement.clientWidth,
        Math.max(...b) - a.top + 2 * %d]; })()""" % (first, last, margin, margin))
    shot = p.cmd("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                 clip={"x": x, "y": max(0, y), "width": w, "height": h, "scale": 1})
    small = with_palette(base64.b64decode(shot["data"]))
    with open(path, "wb") as f:
        f.write(small)
    print("%s: %d bytes" % (path, len(small)))


class Tabs:
    def __init__(self, browser, urls):
        self.browser, self.urls = browser, urls

    def page(self):
        return self.browser.page()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True)
    parser.add_argument("urls", nargs="+")
    a = parser.parse_args()
    browser = chrome.Chrome()
    try:
        t = Tabs(browser, dict(u.rstrip("/").split("=", 1) for u in a.urls))
        p = cases.asked(t, prompt="Name the capital of France.", width=900)
        p.click("#shown .text .f", p.js("[...document.querySelectorAll('#shown .text .f')].findIndex((e) => /France/.test(e.textContent))"))
        p.js("document.activeElement.blur()")
        p.cmd("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
        cut(p, os.path.join(a.to, "page.png"), "h1", "#shown dl")
        p = cases.opened(t, width=900)
        cases.choose(p, "#as", "prompt")
        p.fill("#q", "Anna lives in Berlin. The capital of France is")
        p.fill("#k-target", " Paris")
        p.click("#go")
        p.wait(cases.SHOWN)
        cases.choose(p, "#k2-method", "shapley-value-sampling")
        p.click("#compare button")
        p.wait("document.querySelectorAll('#sides .panel').length === 2 && " + cases.IDLE)
        p.js("document.activeElement.blur()")
        p.media(prefers_color_scheme="dark")
        cut(p, os.path.join(a.to, "page-compare.png"), "#against h2", "#sides dl")  # both have as many lines
    finally:
        browser.close()


if __name__ == "__main__":
    main()
