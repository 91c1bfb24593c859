#!/usr/bin/env python3
"""Drives a running server with OpenAI's own client library (see check-openai.sh).

    check-openai.py ADDRESS generate|embed
    check-openai.py template IN.gguf OUT.gguf     puts a chat template into a GGUF file's metadata
"""
import math
import struct
import sys

checks = 0


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        sys.exit("check-openai: " + what)


def refused(call, kind, **options):
    try:
        call(**options)
    except kind as e:
        check(e.code and e.message, "an error without code: %r" % e)
        return e
    sys.exit("check-openai: not refused: %s" % options)


def chat(client, openai):
    ask = {"model": client.models.list().data[0].id, "temperature": 0, "max_tokens": 16,
           "messages": [{"role": "user", "content": "What is the capital of France?"}]}
    whole = client.chat.completions.create(**ask)
    text = whole.choices[0].message.content
    check("Paris" in text, "the answer is %r" % text)
    check(whole.choices[0].finish_reason in ("stop", "length"), "finish_reason")
    check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, "usage")
    parts = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    check("".join(p.choices[0].delta.content or "" for p in parts if p.choices) == text, "the stream reads differently")
    check(parts[0].choices[0].delta.role == "assistant" and parts[-1].usage == whole.usage, "ends of the stream")
    check(parts[-2].choices[0].finish_reason == whole.choices[0].finish_reason, "finish_reason of the stream")

    told = client.chat.completions.create(**ask, logprobs=True, top_logprobs=5).choices[0].logprobs.content
    check("".join(t.token for t in told) == text, "tokens do not join to the text")
    for t in told:
        check(len(t.top_logprobs) == 5 and t.top_logprobs[0].logprob == t.logprob, "greedy takes the likeliest")
        check(bytes(t.bytes).decode(errors="replace") == t.token, "bytes")
        check(sum(math.exp(o.logprob) for o in t.top_logprobs) <= 1 + 1e-9, "probabilities")
    check(client.chat.completions.create(**ask, stop=" Paris").choices[0].message.content == text.split(" Paris")[0],
          "stop")
    drawn = [client.chat.completions.create(**{**ask, "temperature": 1.0}, seed=s).choices[0].message.content
             for s in (1, 1, 2)]
    check(drawn[0] == drawn[1] != drawn[2], "seeds: %r" % drawn)

    explained = client.chat.completions.create(**ask, extra_body={"attribution": {"features": "word"}})
    features = explained.model_extra["attribution"]["features"]
    check(len(features) >= 6 and any("France" in f["text"] for f in features), "attribution")
    last = list(client.chat.completions.create(**ask, stream=True, extra_body={"attribution": {}}))[-1]
    check("features" in last.model_extra["attribution"], "attribution of a stream")

    refused(client.chat.completions.create, openai.BadRequestError, **{**ask, "temperature": 7})
    refused(client.chat.completions.create, openai.BadRequestError, **ask, tools=[])
    refused(client.chat.completions.create, openai.BadRequestError, **ask, n=17)  # 16 at most
    two = client.chat.completions.create(**{**ask, "temperature": 1}, seed=3, n=2)
    check([c.index for c in two.choices] == [0, 1], "two answers: %r" % two)
    refused(client.chat.completions.create, openai.NotFoundError, **{**ask, "model": "gpt-x"})
    refused(client.embeddings.create, openai.BadRequestError, model=ask["model"], input="text")


def completions(client):
    ask = {"model": client.models.list().data[0].id, "prompt": "The capital of France is", "temperature": 0}
    c = client.completions.create(**ask, max_tokens=4, logprobs=3, echo=True).choices[0]
    check(c.text.startswith("The capital of France is Paris"), "the text is %r" % c.text)
    n = len(c.logprobs.tokens)
    check("".join(c.logprobs.tokens) == c.text, "tokens do not join to the text")
    check(c.logprobs.token_logprobs[0] is None and len(c.logprobs.token_logprobs) == n, "token_logprobs")
    check(all(c.text[o:].startswith(t) for o, t in zip(c.logprobs.text_offset, c.logprobs.tokens)), "text_offset")
    check(all(len(t) == 3 for t in c.logprobs.top_logprobs[1:]), "top_logprobs")
    only = client.completions.create(**ask, max_tokens=0, logprobs=1, echo=True).choices[0]
    check(only.text == ask["prompt"] and only.logprobs.token_logprobs[1:] == c.logprobs.token_logprobs[1:5], "echo only")
    streamed = "".join(p.choices[0].text for p in client.completions.create(**ask, max_tokens=4, stream=True))
    check(ask["prompt"] + streamed == c.text, "the stream reads differently")
    biased = client.completions.create(**ask, max_tokens=1, logit_bias={"260": 100}, logprobs=1).choices[0]
    check(biased.logprobs.token_logprobs[0] < -1, "a bias shows in no log-probability")


def embed(client):
    model = client.models.list().data[0].id
    texts = ["A cat sits on the mat.", "A kitten is resting on a rug.", "Interest rates rose again in May."]
    plain = client.embeddings.create(model=model, input=texts, encoding_format="float")
    packed = client.embeddings.create(model=model, input=texts)  # the client's own way: base64
    check([d.index for d in plain.data] == [0, 1, 2], "order")
    a, b, c = (d.embedding for d in plain.data)
    dot = lambda x, y: sum(p * q for p, q in zip(x, y))
    check(len(a) == 384 and abs(dot(a, a) - 1) < 1e-6, "length")
    check(dot(a, b) > 0.5 > 0.2 > dot(a, c), "similarities %g and %g" % (dot(a, b), dot(a, c)))
    # f32 has 24 bits: half a unit of numbers below 1
    check(all(abs(p - q) <= 2**-25 for p, q in zip(a, packed.data[0].embedding)), "base64")
    check(plain.usage.prompt_tokens == packed.usage.total_tokens > 20, "usage")


def template(source, target):
    data = open(source, "rb").read()
    text = b"{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}{#"
    key = b"tokenizer.chat_template"
    while (8 + len(key) + 4 + 8 + len(text) + 2) % 32:  # tensors stay aligned
        text += b" "
    text += b"#}"
    pair = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(text)) + text
    n_pairs = struct.unpack_from("<Q", data, 16)[0] + 1
    with open(target, "wb") as out:
        out.write(data[:16] + struct.pack("<Q", n_pairs) + pair + data[24:])


def main():
    if sys.argv[1] == "template":
        return template(sys.argv[2], sys.argv[3])
    import openai

    client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
    model = client.models.list().data[0]
    check(client.models.retrieve(model.id) == model, "models")
    if sys.argv[2] == "generate":
        chat(client, openai)
        completions(client)
    else:
        embed(client)
    print("%s %s: %d checks passed" % (sys.argv[2], model.id, checks))


main()
