"""cases.py - what a browser must be able to do with the page. Each function is one case; it gets `t`, which has the
addresses of the servers and makes tabs, and fails by AssertionError. run.py runs them.
"""
import json
import os
import threading
import time
import urllib.request

from chrome import PATIENCE

READY = "document.documentElement.dataset.ready"
IDLE = "document.querySelector('#doing').hidden"
SHOWN = "!document.querySelector('#shown').hidden && " + IDLE
QUESTION = "Name the capital of France."
HOSTILE = ("<img src=x onerror=alert(1)> \"'><script>alert(2)</script> <svg/onload=alert(3)> javascript:alert(4) "
           "{{fields}} \u202eevil\u202c &lt;b&gt; <!-- --> \u200b\u2066x\u2069 %s ${7*7}")


def text(p, selector):
    return p.js("document.querySelector(%s)?.textContent" % json.dumps(selector))


def count(p, selector):
    return p.js("document.querySelectorAll(%s).length" % json.dumps(selector))


def opened(t, kind="decoder", **size):
    p = t.page()
    p.size(size.get("width", 1000), size.get("height", 900), size.get("mobile", False))
    p.goto(t.urls[kind] + "/")
    p.wait(READY)
    return p


def choose(p, selector, value):
    p.js("(() => { const e = document.querySelector(%s); e.value = %s; e.dispatchEvent(new Event('change', {bubbles: true})); })()"
         % (json.dumps(selector), json.dumps(value)))


def clean(p, t, kind="decoder", errors=()):
    """Nothing ran that should not, nobody else was asked, nothing was refused by the policy."""
    origin = t.urls[kind]
    others = [r["url"] for r in p.requests if not r["url"].startswith((origin + "/", "blob:" + origin, "about:", "data:"))]
    assert not others, "requests elsewhere: %s" % others
    assert p.js("window.__csp") == [], p.js("window.__csp")
    assert p.js("window.__alerts") is None, p.js("window.__alerts")
    assert not p.dialogs, p.dialogs
    # the page asks how far a question is, which on a busy machine may not have been accepted yet
    early = lambda e: "status of 404" in e and "/v1/jobs/" in e
    rest = [e for e in p.errors if not early(e) and not any(x in e for x in errors)]
    assert not rest, rest


def asked(t, target=None, prompt=QUESTION, **size):
    p = opened(t, **size)
    p.fill("#q", prompt)
    if target is not None:
        p.fill("#k-target", target)
    p.click("#go")
    p.wait(SHOWN)
    return p


# ---- the cases ------------------------------------------------------------------------------------------------------


def case_answer_streams_then_attribution(t):
    p = opened(t)
    p.js("""window.__seen = []; new MutationObserver(() => window.__seen.push([performance.now(),
        document.querySelector('#answer').textContent])).observe(document.querySelector('#answer'), {childList: true, subtree: true}) """)
    p.fill("#q", QUESTION)
    p.click("#go")
    p.wait(SHOWN)
    assert "It stops after" not in text(p, "#said-note")
    seen = [s for _, s in p.js("window.__seen")]
    grown = sorted({s for s in seen}, key=len)
    assert len(grown) >= 3, "the answer came in %d pieces: %s" % (len(grown), grown)
    assert all(b.startswith(a) for a, b in zip(grown, grown[1:])), grown
    assert count(p, "#shown .text .f") >= 4
    assert p.js("[...document.querySelectorAll('#shown .text .f')].every((e) => /[+\u2212]?[0-9]/.test(e.dataset.tip))")
    assert p.js("[...document.querySelectorAll('#shown .f')].some((e) => /[np][1-8]/.test(e.className))"), "no colours"
    paths = [r["url"].split("/", 3)[3] for r in p.requests if r["method"] == "POST"]
    assert paths == ["v1/chat/completions", "v1/explain"], paths
    t.shot(p, "asked")
    clean(p, t)


def case_word_of_answer(t):
    p = asked(t)
    whole = text(p, "#shown h2")
    n = len([r for r in p.requests if r["url"].endswith("/v1/explain")])
    words = count(p, "#answer .f")
    assert words >= 3, words
    p.click("#answer .f", 1)
    p.wait("document.querySelector('#shown h2').textContent !== %s && %s" % (json.dumps(whole), IDLE))
    word = p.js("document.querySelectorAll('#answer .f')[1].textContent")
    assert word in text(p, "#shown h2"), (word, text(p, "#shown h2"))
    assert count(p, "#answer .f[aria-pressed=true]") == 1
    assert len([r for r in p.requests if r["url"].endswith("/v1/explain")]) == n, "a token's row is in the matrix already"
    # the last word has several tokens ("Paris."): a question of its own
    p.click("#answer .f", words - 1)
    p.wait("%s && document.querySelector('#shown h2').textContent.includes(%s)" % (
        IDLE, json.dumps(p.js("document.querySelectorAll('#answer .f')[%d].textContent.trim()" % (words - 1)))))
    assert len([r for r in p.requests if r["url"].endswith("/v1/explain")]) == n + 1
    body = json.loads([r for r in p.requests if r["url"].endswith("/v1/explain")][-1]["body"])
    assert ":" in body["span"] and "per_token" not in body, body
    t.shot(p, "word")
    clean(p, t)


def case_word_of_prompt(t):
    p = asked(t)
    p.click("#shown .text .f", 2)
    assert p.js("[...document.querySelectorAll('#answer .f')].some((e) => /[np][1-8]/.test(e.className))"), "no colours"
    assert "\u2192" in p.js("document.querySelector('#answer .f').dataset.tip")
    p.click("#shown .text .f", 2)
    assert not p.js("[...document.querySelectorAll('#answer .f')].some((e) => /[np][1-8]/.test(e.className))")
    clean(p, t)


def case_methods_without_rows(t):
    """A method that has no scores for each token of the answer: the whole, and words by questions of their own."""
    p = opened(t)
    p.fill("#q", "Hello.")
    p.fill("#k-target", " Paris, France")
    choose(p, "#k-method", "attention-rollout")
    p.click("#go")
    p.wait(SHOWN)
    assert count(p, "#fault .bad") == 0
    assert count(p, "#answer .f") == 2, text(p, "#answer")
    p.click("#answer .f", 0)
    p.wait("document.querySelector('#shown h2').textContent.includes('Paris,\u201d') && " + IDLE)
    body = json.loads([r for r in p.requests if r["url"].endswith("/v1/explain")][-1]["body"])
    assert body["span"] == "0:2", body
    assert "Paris,\u201d of" in text(p, "#history button"), text(p, "#history")
    clean(p, t, errors=("status of 400",))


def case_exact_numbers(t):
    """What a tip says is what the server's document has."""
    p = asked(t, target=" Paris")
    r = urllib.request.Request(t.urls["decoder"] + "/v1/explain", data=json.dumps(
        {"user": QUESTION, "target": " Paris"}).encode(), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=PATIENCE) as f:
        doc = json.load(f)
    tips = p.js("[...document.querySelectorAll('#shown .text .f')].map((e) => e.dataset.tip)")
    assert len(tips) == len(doc["features"])
    for tip, f in zip(tips, doc["features"]):
        shown = tip.split("\u201d ")[1].split(" ")[0].replace("\u2212", "-")
        assert abs(float(shown) - f["score"]) <= 1e-8 * max(1.0, abs(f["score"])), (tip, f["score"])
    clean(p, t)


def case_cancel(t):
    p = opened(t)
    p.fill("#q", t.long_prompt)
    p.fill("#k-target", " Paris")
    choose(p, "#k-method", "shapley-value-sampling")
    p.js("document.querySelector('#ask details').open = true")
    p.fill("#k-samples", "20")
    p.click("#go")
    p.wait("!document.querySelector('#doing').hidden && document.querySelector('#bar').value > 0")
    t.shot(p, "progress")
    p.click("#cancel")
    p.wait(IDLE)
    assert "Cancelled" in text(p, "#fault")
    p.wait("true")
    end = time.time() + PATIENCE
    while not any(r["method"] == "DELETE" and "/v1/jobs/" in r["url"] for r in p.requests):
        assert time.time() < end, "no DELETE /v1/jobs/ID"
        time.sleep(0.05)
    # the server is free again
    choose(p, "#k-method", "")
    p.fill("#k-samples", "")
    p.fill("#q", "The capital of France is")
    p.click("#go")
    p.wait(SHOWN)
    clean(p, t, errors=("/v1/jobs/", "AbortError"))


def case_place_in_the_queue(t):
    """Somebody else's long question runs: the page says that it waits, and behind how many."""
    long = {"prompt": t.long_prompt * 2, "target": " food", "method": "integrated-gradients", "rule": "gauss-legendre",
            "steps": 400}
    other = urllib.request.Request(t.urls["decoder"] + "/v1/explain", json.dumps(long).encode(),
                                   {"Content-Type": "application/json", "X-Request-Id": "0123456789abcdef"})
    ends = threading.Thread(target=lambda: _quietly(lambda: urllib.request.urlopen(other, timeout=PATIENCE).read()))
    ends.start()
    try:
        for _ in range(10 * PATIENCE):
            if b'"running":1' in urllib.request.urlopen(t.urls["decoder"] + "/healthz").read().replace(b" ", b""):
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the other question did not begin to run")
        p = opened(t)
        p.fill("#q", QUESTION)
        p.click("#go")
        p.wait("document.querySelector('#what').textContent.includes('before this one: 1')")
        t.shot(p, "waiting")
    finally:
        stop = urllib.request.Request(t.urls["decoder"] + "/v1/jobs/0123456789abcdef", method="DELETE")
        _quietly(lambda: urllib.request.urlopen(stop, timeout=PATIENCE))
        ends.join(PATIENCE)
    p.wait(SHOWN)
    clean(p, t)


def _quietly(call):
    try:
        call()
    except OSError:
        pass


def case_errors_are_told(t):
    p = opened(t)
    p.fill("#q", "The capital of France is")
    p.fill("#k-target", " Paris")
    p.js("document.querySelector('#ask details').open = true")
    p.fill("#k-steps", "many")
    p.click("#go")
    p.wait(IDLE + " && document.querySelector('#fault .bad')")
    assert "steps" in text(p, "#fault"), text(p, "#fault")
    assert p.js("document.activeElement.id") == "k-steps", "the field that is wrong has the focus"
    t.shot(p, "error")
    clean(p, t, errors=("status of 400",))


def case_compare(t):
    p = asked(t, target=" Paris")
    choose(p, "#k2-method", "saliency")
    p.click("#compare button")
    p.wait("document.querySelectorAll('#sides .panel').length === 2 && " + IDLE)
    names = p.js("[...document.querySelectorAll('#sides h3')].map((e) => e.textContent)")
    assert names == ["feature-ablation", "saliency"], names
    scales = "[...document.querySelectorAll('#sides .legend')].map((e) => e.lastChild.textContent)"
    a, b = p.js(scales)
    assert a == b, (a, b)
    p.click("#same")
    a, b = p.js(scales)
    assert a != b, "each its own scale"
    p.click("#same")
    t.shot(p, "compare")
    p.fill("#k2-text", "What is the capital of Germany?")
    choose(p, "#k2-method", "")
    p.click("#compare button")
    p.wait("document.querySelector('#sides').textContent.includes('Germany') && " + IDLE)
    assert p.js("document.querySelectorAll('#sides .text')[0].textContent.includes('France')")
    clean(p, t)


def case_hostile_text(t):
    p = asked(t, target=HOSTILE, prompt=HOSTILE)
    shown = text(p, "#shown .text")
    assert "<img src=x onerror=alert(1)>" in shown and "\\u{202E}" in shown and "\u202e" not in shown, shown
    answer = text(p, "#answer")
    assert "<script>alert(2)</script>" in answer and "\u202e" not in answer, answer
    assert "\\u{202E}" in text(p, "#q-hidden"), text(p, "#q-hidden")
    assert count(p, "main img, main script, main svg, main iframe") == 0
    for i in range(0, count(p, "#answer .f"), 6):  # headings and tips of odd words
        p.click("#answer .f", i)
        p.wait(IDLE)
        p.js("document.querySelector('#shown .f').focus()")
    assert "\u202e" not in p.js("document.querySelector('main').innerText")
    t.shot(p, "hostile")
    clean(p, t)
    # the saved page and the JSON as well
    link = p.js("document.querySelector('.acts a').getAttribute('href')")
    q = t.page()
    q.goto(t.urls["decoder"] + link)
    assert "<img src=x" in q.js("document.body.innerText") and count(q, "main img") == 0
    clean(q, t)


def case_hostile_errors(t):
    """What the server says of hostile input is shown as text."""
    p = opened(t)
    p.fill("#q", "The capital of France is")
    p.fill("#k-target", " Paris")
    p.js("document.querySelector('#ask details').open = true")
    p.fill("#k-site", HOSTILE)
    p.click("#go")
    p.wait(IDLE + " && document.querySelector('#fault .bad')")
    assert count(p, "#fault img, #fault script, #fault svg") == 0
    assert "\u202e" not in text(p, "#fault")
    clean(p, t, errors=("status of 400",))


def case_policy_stops_scripts(t):
    """The policy itself: what got into the page would still not run."""
    p = opened(t)
    p.js("(() => { const i = document.createElement('img'); i.src = 'http://example.invalid/x'; document.body.append(i); })()")
    refused = p.js("""(() => { const e = document.createElement('p'), tries = {
            html: () => { e.innerHTML = '<b>x</b>'; },
            attribute: () => e.setAttribute('onerror', 'alert(9)'),
            timer: () => setTimeout('alert(9)'),
            eval: () => (0, eval)('alert(9)')};
        return Object.keys(tries).filter((k) => { try { tries[k](); return false; } catch { return true; } }); })()""")
    assert refused == ["html", "attribute", "timer", "eval"], refused
    p.wait("window.__csp.some((v) => v.includes('img-src'))")
    time.sleep(0.5)  # what must not happen had its time
    assert p.js("window.__alerts") is None
    sent = [r for r in p.requests if "example.invalid" in r["url"] and r["id"] in p.responses]
    assert not sent
    head = next(x for x in p.responses.values() if x["url"] == t.urls["decoder"] + "/")["headers"]
    policy = {k.lower(): v for k, v in head.items()}["content-security-policy"]
    assert "unsafe-inline" not in policy and "default-src 'none'" in policy, policy


def case_light_and_dark(t):
    p = asked(t, target=" Paris")
    colour = "getComputedStyle(document.body).backgroundColor"
    p.media(prefers_color_scheme="light")
    light = p.js(colour)
    worst = {"light": contrast(p)}
    t.shot(p, "light")
    p.media(prefers_color_scheme="dark")
    dark = p.js(colour)
    worst["dark"] = contrast(p)
    t.shot(p, "dark")
    assert light != dark, (light, dark)
    for name, (ratio, what) in worst.items():
        assert ratio >= 4.5, "%s: %.2f to 1 at %s" % (name, ratio, what)
    clean(p, t)


def contrast(p):
    """The lowest contrast of text to what is behind it (WCAG 2), and where."""
    return p.js("""(() => {
        const parse = (c) => { const m = c.match(/[0-9.]+/g).map(Number); return m.length === 3 ? [...m, 1] : m; };
        const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3]));
        const lum = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        let worst = [99, ''];
        const w = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (w.nextNode()) {
            const e = w.currentNode.parentElement;
            if (!w.currentNode.data.trim() || !e.getClientRects().length || e.closest('.unseen, [aria-hidden], option, noscript')) continue;
            let back = [255, 255, 255], chain = [], o = 1;
            for (let x = e; x; x = x.parentElement) { chain.unshift(parse(getComputedStyle(x).backgroundColor)); o *= Number(getComputedStyle(x).opacity); }
            for (const c of chain) back = over(c, back);
            const f = parse(getComputedStyle(e).color); f[3] *= o;
            const a = lum(over(f, back)), b = lum(back), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < worst[0]) worst = [ratio, e.tagName + '.' + e.className + ' ' + w.currentNode.data.slice(0, 20)];
        }
        return worst; })()""")


def case_narrow(t):
    p = asked(t, target=" Paris", width=360, height=740, mobile=True)
    choose(p, "#k2-method", "saliency")
    p.click("#compare button")
    p.wait("document.querySelectorAll('#sides .panel').length === 2 && " + IDLE)
    p.js("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    width = p.js("[document.documentElement.scrollWidth, innerWidth]")
    wide = p.js("[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll, .unseen') && "
                "e.getBoundingClientRect().right > 361).map((e) => e.tagName + '#' + e.id).slice(0, 5)")
    assert width[0] <= 360 and width[1] == 360 and not wide, (width, wide)
    p.js("document.querySelectorAll('details').forEach((e) => { e.open = false; }); scrollTo(0, 0)")
    t.shot(p, "narrow")
    clean(p, t)


def focus(p):
    return p.js("(() => { const e = document.activeElement; return e.id || e.className + ' ' + e.textContent.slice(0, 20); })()")


def tab_to(p, wanted, most=80, back=False):
    """Tab until the wanted expression about document.activeElement holds; every stop must be visible as such."""
    for _ in range(most):
        p.key("Tab", 8 if back else 0)
        seen = p.js("""(() => { const e = document.activeElement, s = getComputedStyle(e);
            return e === document.body || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2); })()""")
        assert seen, "no visible focus on " + focus(p)
        if p.js("(() => { const e = document.activeElement; return !!(%s); })()" % wanted):
            return
    raise AssertionError("the tab key does not reach: " + wanted)


def case_keyboard_only(t):
    p = opened(t)
    tab_to(p, "e.id === 'q'")
    p.type(QUESTION)
    tab_to(p, "e.id === 'go'")
    p.key("Enter")
    p.wait(SHOWN)
    p.wait("document.activeElement.tagName === 'H2'")
    # the answer stands before the result: backwards
    tab_to(p, "e.closest('#answer')", back=True)
    first = focus(p)
    p.key("ArrowRight")
    assert focus(p) != first
    heading = text(p, "#shown h2")
    p.key("Enter")
    p.wait("document.querySelector('#shown h2').textContent !== %s && %s" % (json.dumps(heading), IDLE))
    tab_to(p, "e.closest('#shown .text')")
    p.key("End")
    p.key("Home")
    p.key("ArrowRight")
    assert p.js("document.activeElement.closest('#shown .text') !== null")
    assert p.js("getComputedStyle(document.activeElement, '::after').content").strip('"') != "none", "no tip at the focus"
    t.shot(p, "keyboard")
    tab_to(p, "e.id === 'k2-method'")
    choose(p, "#k2-method", "saliency")
    tab_to(p, "e.textContent === 'Compare'")
    p.key("Enter")
    p.wait("document.querySelectorAll('#sides .panel').length === 2 && " + IDLE)
    tab_to(p, "e.closest('#history')")
    p.key("Enter")
    p.wait("document.activeElement.tagName === 'H2'")
    # cancelling by Escape
    p.js("scrollTo(0, 0)")
    tab_to(p, "e.id === 'q'", back=True)
    p.fill("#q", t.long_prompt)
    p.key("Enter", 2)  # Ctrl
    p.wait("!document.querySelector('#doing').hidden")
    p.key("Escape")
    p.wait(IDLE)
    clean(p, t, errors=("/v1/jobs/", "AbortError"))


def case_progress_is_announced(t):
    p = opened(t)
    assert p.js("document.querySelector('#live').getAttribute('role')") == "status"
    p.js("window.__said = []; new MutationObserver(() => window.__said.push(document.querySelector('#live').textContent))"
         ".observe(document.querySelector('#live'), {childList: true, characterData: true, subtree: true})")
    p.fill("#q", "The capital of France is")
    p.fill("#k-target", " Paris")
    p.click("#go")
    p.wait(SHOWN)
    said = p.js("window.__said")
    assert said and "is shown" in said[-1], said
    assert len(said) < 12, "a screen reader would drown: %s" % said
    clean(p, t)


def case_motion_and_print(t):
    p = asked(t, target=" Paris")
    p.media(prefers_reduced_motion="reduce")
    assert p.js("document.getAnimations().length") == 0
    p.media(media="print")
    assert p.js("getComputedStyle(document.querySelector('#ask')).display") == "none"
    assert p.js("getComputedStyle(document.querySelector('#shown')).display") != "none"
    clean(p, t)


def case_permalink_and_history(t):
    p = asked(t, target=" Paris", prompt="The capital of France is")
    href = p.js("document.querySelector('.acts a').getAttribute('href')")
    assert href.startswith("/r/"), href
    q = t.page()
    q.goto(t.urls["decoder"] + href)
    assert "Paris" in q.js("document.title + document.body.innerText")
    assert q.js("document.querySelector('#result').textContent.length") > 500, "the page holds the JSON"
    assert q.js("document.querySelectorAll('.f').length") >= 4
    q.key("Tab")
    assert q.js("document.activeElement.className.startsWith('f')"), "the saved page's own script or order is broken"
    clean(q, t)
    # opened in the page itself
    s = t.page()
    s.goto(t.urls["decoder"] + "/#r=" + href[3:])
    s.wait(READY + " && " + SHOWN)
    assert "Paris" in text(s, "#shown h2")
    clean(s, t)
    s.click("#answer .f", 0)  # its words can be picked as if it had been asked there
    assert count(s, "#answer .f[aria-pressed=true]") == 1 and "value behind" in text(s, "#shown .sub"), text(s, "#shown .sub")
    assert count(p, "#history button") == 1
    p.fill("#k-target", " Rome")
    p.click("#go")
    p.wait("document.querySelectorAll('#history button').length === 2 && " + IDLE)
    p.click("#history button", 1)
    assert "Paris" in text(p, "#shown h2"), text(p, "#shown h2")
    # downloads: the document as the server sent it, and the page
    p.js("""window.__blobs = []; { const f = URL.createObjectURL; URL.createObjectURL = (b) => { window.__blobs.push(b); return f.call(URL, b); }; }
        HTMLAnchorElement.prototype.click = function () { window.__name = this.download; }""")
    buttons = p.js("[...document.querySelectorAll('.acts button')].map((e) => e.textContent)")
    for name in ("Download HTML", "Download JSON"):
        assert name in buttons, buttons
        p.js("[...document.querySelectorAll('.acts button')].find((e) => e.textContent === %s).click()" % json.dumps(name))
        p.wait("window.__blobs.length > 0")
        body = p.js("window.__blobs.pop().text()")
        assert ("<!DOCTYPE html>" in body) if name.endswith("HTML") else json.loads(body)["features"], body[:100]
    clean(p, t)


def case_command_line(t):
    p = asked(t, target=" Paris", prompt="The capital of France is")
    assert "Copy the command line" in p.js("[...document.querySelectorAll('.acts button')].map((e) => e.textContent)")
    command = text(p, "code.command")
    assert "ascribe explain" in command and "Paris" in command, command
    clean(p, t)


def case_without_scripts(t):
    p = t.page()
    p.scripts(False)
    p.size(1000, 900)
    p.goto(t.urls["decoder"] + "/")
    p.cmd("DOM.getDocument")
    p.js_off_fill("textarea[name=ask-text]", "The capital of France is")
    p.js_off_choose("select[name=ask-as]", "prompt")
    p.js_off_fill("input[name=target]", " Paris")
    p.js_off_submit("#go")
    html = p.html()
    assert "What drove the answer" in html and "Paris" in html, html[:300]
    t.shot(p, "no-script")
    # an error is a page too
    p.goto(t.urls["decoder"] + "/")
    p.js_off_fill("textarea[name=ask-text]", "The capital of France is")
    p.js_off_fill("input[name=target]", " Paris")
    p.js_off_fill("input[name=steps]", "many")
    p.js_off_submit("#go")
    html = p.html()
    assert "steps" in html and "<html" in html and "What drove" not in html, html[:300]
    assert not p.dialogs


def case_without_scripts_hostile(t):
    p = t.page()
    p.goto(t.urls["decoder"] + "/")
    p.wait(READY)
    p.fill("#q", HOSTILE)
    p.fill("#k-target", " Paris")
    p.js("HTMLFormElement.prototype.submit.call(document.querySelector('#ask'))")
    p.wait("document.title.startsWith('ascribe:')")
    assert count(p, "main img") == 0 and "<img src=x" in p.js("document.body.innerText")
    clean(p, t)


def case_token(t):
    p = t.page()
    p.goto(t.urls["locked"] + "/")
    assert "gguf" not in text(p, "header"), "the model is named to strangers"
    p.wait("!document.querySelector('#unlock').hidden")
    p.fill("#key", "wrong")
    p.key("Enter")
    p.wait("document.querySelector('#fault .bad')")
    p.fill("#key", t.token)
    p.key("Enter")
    p.wait(READY)
    assert p.js("document.querySelector('#key').value") == "" and p.js("sessionStorage.length + localStorage.length") == 0
    p.fill("#q", "The capital of France is")
    p.fill("#k-target", " Paris")
    p.click("#go")
    p.wait(SHOWN)
    clean(p, t, "locked", errors=("status of 401",))
    # without scripts: a field of the form
    q = t.page()
    q.scripts(False)
    q.goto(t.urls["locked"] + "/")
    q.js_off_fill("textarea[name=ask-text]", "The capital of France is")
    q.js_off_fill("input[name=target]", " Paris")
    q.js_off_submit("#go")
    assert "token" in q.html() and "What drove" not in q.html()
    q.goto(t.urls["locked"] + "/")
    q.js_off_fill("textarea[name=ask-text]", "The capital of France is")
    q.js_off_fill("input[name=target]", " Paris")
    q.js_off_fill("input[name=token]", t.token)
    q.js_off_submit("#go")
    assert "What drove the answer" in q.html(), q.html()[:300]


def case_picture(t):
    p = opened(t, "vision")
    p.files("#picture", t.picture)
    p.wait("!document.querySelector('#preview').hidden")
    choose(p, "#k-method", "saliency")
    p.click("#go")
    p.wait(SHOWN)
    assert p.js("""(() => { const c = document.querySelector('.heat canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return new Set(Array.from({length: 400}, (_, i) => d[4 * i * Math.floor(d.length / 1604)])).size; })()""") > 5, "the map is of one colour"
    sum_of = "(() => { const c = document.querySelector('.heat canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.reduce((a, b) => a + b, 0); })()"
    before = p.js(sum_of)
    p.js("document.querySelector('.heat input').focus()")
    for _ in range(5):
        p.key("ArrowLeft")
    assert p.js(sum_of) != before, "the slider does nothing"
    p.js("document.querySelector('.heat canvas').focus()")
    p.key("ArrowRight")
    assert "row 0, column 1" in text(p, ".heat output"), text(p, ".heat output")
    t.shot(p, "picture")
    clean(p, t, "vision")


def case_picture_without_scripts(t):
    p = t.page()
    p.scripts(False)
    p.goto(t.urls["vision"] + "/")
    p.files("input[name=image]", t.picture)
    p.js_off_choose("select[name=method]", "saliency")
    p.js_off_submit("#go")
    html = p.html()
    assert "saliency" in html and "<svg" in html and "<form" not in html, html[:400]
    t.shot(p, "picture-no-script")


def case_picture_hostile(t):
    """A file's name is text, a file that is no picture is told, pasting and dropping work."""
    p = opened(t, "vision")
    name = os.path.join(t.folder, "<img src=x onerror=alert(1)>\u202e.png")
    with open(t.picture, "rb") as a, open(name, "wb") as b:
        b.write(a.read())
    p.files("#picture", name)
    p.wait("!document.querySelector('#preview').hidden")
    assert "\\u{202E}" in text(p, "#picture-name") and count(p, "main img") == 0, text(p, "#picture-name")
    bad = os.path.join(t.folder, "bad.png")
    with open(bad, "wb") as f:
        f.write(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    p.files("#picture", bad)
    p.wait("document.querySelector('#fault .bad')")
    p.js("""(async () => { const c = new OffscreenCanvas(40, 20); c.getContext('2d').fillRect(0, 0, 10, 10);
        const d = new DataTransfer(); d.items.add(new File([await c.convertToBlob()], 'pasted.png', {type: 'image/png'}));
        document.dispatchEvent(new ClipboardEvent('paste', {clipboardData: d, bubbles: true})); })()""")
    p.wait("document.querySelector('#picture-name').textContent.includes('pasted.png, 40 by 20')")
    p.js("""(async () => { const c = new OffscreenCanvas(30, 30); c.getContext('2d').fillRect(0, 0, 10, 10);
        const d = new DataTransfer(); d.items.add(new File([await c.convertToBlob()], 'dropped.png', {type: 'image/png'}));
        document.querySelector('#drop').dispatchEvent(new DragEvent('drop', {dataTransfer: d, bubbles: true, cancelable: true})); })()""")
    p.wait("document.querySelector('#picture-name').textContent.includes('dropped.png, 30 by 30')")
    choose(p, "#k-method", "saliency")
    p.click("#go")
    p.wait(SHOWN)
    clean(p, t, "vision")


def case_picture_compare(t):
    p = opened(t, "vision")
    p.files("#picture", t.picture)
    p.wait("!document.querySelector('#preview').hidden")
    choose(p, "#k-method", "saliency")
    p.click("#go")
    p.wait(SHOWN)
    choose(p, "#k2-method", "input-x-gradient")
    p.click("#compare button")
    p.wait("document.querySelectorAll('#sides .heat').length === 2 && " + IDLE)
    t.shot(p, "picture-compare")
    clean(p, t, "vision")


def case_encoder(t):
    p = opened(t, "encoder")
    p.fill("#q", "The movie was surprisingly good.")
    p.fill("#k-similar_to", "I liked the film a lot.")
    p.click("#go")
    p.wait(SHOWN)
    assert count(p, "#shown .text .f") >= 4
    assert "similarity" in text(p, "#shown h2"), text(p, "#shown h2")
    assert p.js("document.querySelector('#said').hidden")
    t.shot(p, "encoder")
    clean(p, t, "encoder")


CASES = [(name[5:], f) for name, f in list(globals().items()) if name.startswith("case_")]
NEEDS = {"picture": "vision", "picture_hostile": "vision", "picture_compare": "vision", "picture_without_scripts": "vision", "encoder": "encoder", "token": "locked"}
