#!/usr/bin/env python3
"""Writes tests/data/tok/tokenizer_json.jsonl: small tokenizer.json files with every component, and what Hugging Face
tokenizers 0.23.3 makes of nasty texts. One line per tokenizer: {"name", "tokenizer" (the text of the file), "cases"}.
Needs: pip install tokenizers sentencepiece protobuf (the last two for a small charsmap).
Usage: tokenizer_cases.py > tests/data/tok/tokenizer_json.jsonl
"""
import base64
import io
import json
import tempfile

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2

TEXTS = [
    "", " ", "Hello, world!", "  two  spaces\tand\ttabs \n\n", "don't we'll I'M", "naïve café ﬁne", "e\u0301a\u0323\u0301 o\u0308\u0323",
    "日本語とカタカナ、中国。", "한국어 \u1112\u1161\u11ab 각", "שלום \u05d0\u05bc مرحبا عَ", "ไทย हिन्दी क्षि", "👨‍👩‍👧 🇩🇪 👍🏽 ❤️🙂",
    "a\x00b\x07c\x7fd\u0085e", "x\u00a0y\u2003z\u3000w\u200bv\ufeffu", "İstanbul ẞ ǅ Σς", "① ½ Ⅷ ² ３ ٣", "<s>a</s> <mask> b[MASK]",
    "tokTokens xtok tok", "\U00011938 \U0001d15e 𝔾 \ue000 \u0378 \ufffd", "aaaaaaaaaaaaaaaaaaaaaaaa", "12345 3.14 1,000", "a\U0001E4D0\U00010D40 \U0002EBF0!\u1C89\u0ECE\U0001CC00b\u2427", "▁a▁▁b Ġc <0x41>",
]
PAIRS = [("Hello", "wörld é"), ("", "b"), (" a", " ")]
MORE_PAIRS = [("x y", "x y")]  # of the last files


def charsmap():
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        for a, b in (("ﬁ", "fi"), ("é", "e"), ("e\u0301", "e"), ("①", "1"), ("½", "1/2"), ("\u200b", ""), ("中国", "中"), ("　", " ")):
            rules.write(" ".join("%X" % ord(c) for c in a) + "\t" + " ".join("%X" % ord(c) for c in b) + "\n")
        rules.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["a b c"] * 9), model_writer=model, vocab_size=9, minloglevel=2,
                                                 hard_vocab_limit=False, normalization_rule_tsv=rules.name)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


def added(content, **flags):
    return {**dict(id=0, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=True), **flags}


SPECIAL = [added("<unk>"), added("<s>"), added("</s>")]
MIXED = SPECIAL + [added("<mask>", lstrip=True), added("[MASK]", rstrip=True, special=False), added("tok", single_word=True, normalized=True, special=False),
                   added("ﬁne", normalized=True, special=False)]


def file(model, normalizer=None, pre=None, post=None, decoder=None, tokens=SPECIAL):
    return dict(version="1.0", truncation=None, padding=None, added_tokens=tokens, normalizer=normalizer, pre_tokenizer=pre, post_processor=post,
                decoder=decoder, model=model)


def sections(normalizer, pre):
    """What reaches the model, of all texts."""
    t = tokenizers.Tokenizer.from_str(json.dumps(file(dict(type="WordLevel", vocab={"<unk>": 0}, unk_token="<unk>"), normalizer, pre, tokens=[])))
    out = []
    for text in TEXTS + [p for pair in PAIRS for p in pair]:
        s = t.normalizer.normalize_str(text) if t.normalizer else text
        out += [w for w, _ in t.pre_tokenizer.pre_tokenize_str(s)] if t.pre_tokenizer else [s]
    return [w for w in out if w and "\0" not in w]


def letters(words, skip=7):
    """Most characters; every seventh is left out, so that there are unknown ones."""
    every = sorted(set("".join(words)))
    return [c for i, c in enumerate(every) if i % skip != skip - 1]


def parts(words, head=""):
    return [(head if i else "") + w[i:i + n] for w in words for i in (0, 1, 3) for n in (2, 3, 5) if i + n <= len(w)][::3]


def numbered(names):
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def bpe(normalizer, pre, prefix="", suffix="", unk="<unk>", skip=7, bytes_too=False, pairs=True, **flags):
    words = sections(normalizer, pre)
    base = letters(words, skip)
    names = ["<unk>", "<s>", "</s>"] + base + [prefix + c for c in base if prefix] + [c + suffix for c in base if suffix]
    names += [prefix + c + suffix for c in base if prefix and suffix] + ["<0x%02X>" % b for b in range(256) if bytes_too and b != 0xF0]
    known, merges = set(names), []
    for w in words[::2]:
        seq = [(prefix if i else "") + c + (suffix if i == len(w) - 1 else "") for i, c in enumerate(w)]
        for i in range(len(seq) - 1):
            a, b = seq[i], seq[i + 1]
            joined = a + b[len(prefix):]
            if a in known and b in known and [a, b] not in merges and len(merges) < 120 and " " not in a + b:
                merges.append([a, b])
                if joined not in known:
                    known.add(joined)
                    names.append(joined)
                seq[i + 1] = joined
    return dict(type="BPE", dropout=None, unk_token=unk, continuing_subword_prefix=prefix or None, end_of_word_suffix=suffix or None,
                byte_fallback=bytes_too, vocab=numbered(names), merges=merges if pairs else [" ".join(m) for m in merges],
                **{**dict(fuse_unk=False, ignore_merges=False), **flags})


def wordpiece(normalizer, pre, **flags):
    words = sections(normalizer, pre)
    base = letters(words)
    return dict(type="WordPiece", unk_token="<unk>", continuing_subword_prefix="##", **{**dict(max_input_chars_per_word=20), **flags},
                vocab=numbered(["<unk>", "<s>", "</s>"] + base + ["##" + c for c in base] + parts(words, "##")))


def unigram(normalizer, pre, bytes_too=False):
    words = sections(normalizer, pre)
    names = list(dict.fromkeys(["<unk>", "<s>", "</s>"] + letters(words) + parts(words) + ["<0x%02X>" % b for b in range(256) if bytes_too]))
    return dict(type="Unigram", unk_id=0, vocab=[[n, -((i * 37) % 101) / 8 - 1 / (1 + i)] for i, n in enumerate(names)], byte_fallback=bytes_too)


def wordlevel(normalizer, pre):
    words = sections(normalizer, pre)
    return dict(type="WordLevel", unk_token="<unk>", vocab=numbered(["<unk>", "<s>", "</s>"] + sorted(set(words))[::2]))


def N(kind, **k):
    return dict(type=kind, **k)


def regex(p):
    return {"Regex": p}


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BL = lambda **k: N("ByteLevel", **{**dict(add_prefix_space=False, trim_offsets=True, use_regex=True), **k})
META = lambda scheme="always", split=True: N("Metaspace", replacement="▁", prepend_scheme=scheme, split=split)
TEMPLATE = N("TemplateProcessing", single=[{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "two", "type_id": 1}}],
             pair=[{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "two", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                   {"SpecialToken": {"id": "</s>", "type_id": 1}}],
             special_tokens={"<s>": dict(id="<s>", ids=[1], tokens=["<s>"]), "</s>": dict(id="</s>", ids=[2], tokens=["</s>"]), "two": dict(id="two", ids=[2, 1], tokens=["</s>", "<s>"])})
BERTNORM = N("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)


def all_files():
    yield "gpt2", file(bpe(None, BL(), skip=99), None, BL(), BL(trim_offsets=False), BL())
    yield "roberta", file(bpe(None, BL(add_prefix_space=True), skip=99), None, BL(add_prefix_space=True),
                          N("RobertaProcessing", sep=["</s>", 2], cls=["<s>", 1], trim_offsets=True, add_prefix_space=True), BL(), MIXED)
    pre = N("Sequence", pretokenizers=[N("Split", pattern=regex(LLAMA3), behavior="Isolated", invert=False), BL(use_regex=False)])
    yield "llama3", file(bpe(None, pre, skip=99, ignore_merges=True, unk=None), None, pre, N("Sequence", processors=[BL(trim_offsets=True), TEMPLATE]), BL(), MIXED)
    pre = N("BertPreTokenizer")
    yield "bert", file(wordpiece(BERTNORM, pre), BERTNORM, pre, TEMPLATE, N("WordPiece", prefix="##", cleanup=True), MIXED)
    yield "bert-cased", file(wordpiece(N("BertNormalizer", clean_text=False, handle_chinese_chars=True, strip_accents=True, lowercase=False), pre, max_input_chars_per_word=5),
                             N("BertNormalizer", clean_text=False, handle_chinese_chars=True, strip_accents=True, lowercase=False), pre,
                             N("BertProcessing", sep=["</s>", 2], cls=["<s>", 1]), N("WordPiece", prefix="##", cleanup=False))
    norm = N("Sequence", normalizers=[N("Prepend", prepend="▁"), N("Replace", pattern={"String": " "}, content="▁")])
    yield "llama2", file(bpe(norm, None, bytes_too=True, fuse_unk=True, pairs=False), norm, None, TEMPLATE,
                         N("Sequence", decoders=[N("Replace", pattern={"String": "▁"}, content=" "), N("ByteFallback"), N("Fuse"), N("Strip", content=" ", start=1, stop=0)]), MIXED)
    yield "t5", file(unigram(None, META()), None, META(), TEMPLATE, META(), MIXED)
    norm = N("Sequence", normalizers=[N("Precompiled", precompiled_charsmap=charsmap()), N("Strip", strip_left=False, strip_right=True), N("Replace", pattern=regex(" {2,}"), content="▁")])
    yield "xlm", file(unigram(norm, META("first")), norm, META("first"), None, META("first"))
    yield "unigram-bytes", file(unigram(N("NFKC"), META("never"), True), N("NFKC"), META("never"), None, N("Sequence", decoders=[N("ByteFallback"), META("never")]))
    yield "unigram-whole", file(unigram(N("Nmt"), META("always", False)), N("Nmt"), META("always", False), None, META())
    norm, pre = N("Sequence", normalizers=[N("NFD"), N("Lowercase"), N("StripAccents")]), N("Whitespace")
    yield "words", file(wordlevel(norm, pre), norm, pre, None, None, MIXED)
    yield "clip", file(bpe(N("NFC"), pre, suffix="</w>", fuse_unk=True), N("NFC"), pre, None, N("BPEDecoder", suffix="</w>"))
    yield "affixes", file(bpe(None, N("WhitespaceSplit"), prefix="##", suffix="@"), None, N("WhitespaceSplit"), None, N("WordPiece", prefix="##", cleanup=True))
    yield "ctc", file(bpe(N("NFKD"), None), N("NFKD"), None, None, N("CTC", pad_token="<s>", word_delimiter_token="a", cleanup=True))
    yield "bytes-first", file(bpe(N("ByteLevel"), None, skip=99), N("ByteLevel"), None, None, BL())
    for i, behavior in enumerate(("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")):
        pre = N("Sequence", pretokenizers=[N("Split", pattern=regex(r"\p{L}+|(?=\d)"), behavior=behavior, invert=i % 2 == 1), N("Punctuation", behavior=behavior)])
        norm = N("Strip", strip_left=i % 2 == 0, strip_right=i % 2 == 1)
        yield "split-" + behavior, file(wordlevel(norm, pre), norm, pre, None, N("Fuse"))
    pre = N("Sequence", pretokenizers=[N("UnicodeScripts"), N("Digits", individual_digits=False), N("CharDelimiterSplit", delimiter="a")])
    yield "scripts", file(unigram(None, pre), None, pre)
    pre = N("Sequence", pretokenizers=[N("Split", pattern={"String": " "}, behavior="Removed", invert=False), N("Digits", individual_digits=True), N("FixedLength", length=3)])
    yield "fixed", file(wordpiece(None, pre), None, pre, None, N("Sequence", decoders=[N("Replace", pattern=regex("[aeiou]"), content="*"), N("Strip", content="#", start=2, stop=1)]))
    pre = N("Split", pattern=regex(r"[[:punct:]x]|[^\P{PosixPunct}A-Z]+"), behavior="Isolated", invert=False)  # symbols are punctuation, too
    yield "posix-punct", file(wordlevel(None, pre), None, pre)
    near = dict(type="Unigram", unk_id=0, byte_fallback=False,  # scores whose sums depend on the order and on how decimals are read
                vocab=[["<unk>", -1.0], ["<s>", -1.1], ["</s>", -1.2], ["a", -0.7934782608695652], ["aaaaa", -1.3806818181818181], ["e", -3.5971899032592773],
                       ["1", -2.0123456789012345e-3], ["12", -7.1234567890123456e-05], ["0", -1e300]])
    yield "near-ties", file(near)
    # files of the first versions: components without their type, RoBERTa's step without ranges, the head of a merges.txt
    norm, pre = N("Sequence", normalizers=[BERTNORM, N("Replace", pattern=regex("[0-9]"), content="0"), N("Strip", strip_left=True, strip_right=False), N("Prepend", prepend="a")]), N("WhitespaceSplit")
    model, late = wordpiece(norm, pre), N("Strip", content="#", start=1, stop=0)
    yield "untyped", file(model, untyped(norm), pre, untyped(TEMPLATE), N("Sequence", decoders=[untyped(d) for d in (N("WordPiece", prefix="##", cleanup=True), N("Replace", pattern=regex("0+"), content="1"), late)]))
    yield "untyped-bert", file(model, BERTNORM, pre, untyped(N("BertProcessing", sep=["</s>", 2], cls=["<s>", 1])), untyped(N("CTC", pad_token="<s>", word_delimiter_token="a", cleanup=True)))
    model = bpe(None, BL(), skip=99, pairs=False, suffix="</w>")
    model["merges"].insert(0, "#version: 0.2")
    yield "untyped-roberta", file(model, None, BL(), untyped(N("RobertaProcessing", sep=["</s>", 2], cls=["<s>", 1], trim_offsets=True, add_prefix_space=True)), untyped(N("BPEDecoder", suffix="</w>")))
    yield "roberta-early", file(model, None, BL(), N("RobertaProcessing", sep=["</s>", 2], cls=["<s>", 1]), BL())
    # a step that trims behind one that puts tokens in front: the text's first token is not the first one then
    norm = N("Replace", pattern=regex(r"^\S(?=\s)"), content="")
    model, late = bpe(norm, BL(), skip=99), BL(add_prefix_space=True)
    for name, step in (("bert", N("BertProcessing", sep=["</s>", 2], cls=["<s>", 1])),
                       ("roberta", N("RobertaProcessing", sep=["</s>", 2], cls=["<s>", 1], trim_offsets=True, add_prefix_space=True))):
        yield "trim-behind-" + name, file(model, norm, BL(), N("Sequence", processors=[step, late]), BL())


def untyped(component):
    """Without "type", also inside."""
    if isinstance(component, list):
        return [untyped(c) if "type" in c else c for c in component]
    return {k: untyped(v) if k == "normalizers" else v for k, v in component.items() if k != "type"}


def main():
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    for name, f in all_files():
        text = json.dumps(f)
        t = tokenizers.Tokenizer.from_str(text)
        cases = []
        for a, b in [(a, None) for a in TEXTS] + PAIRS + (MORE_PAIRS if name.startswith("trim") else []):
            e = t.encode(a, b)
            own = [b if b is not None and s == 1 else a for s in e.sequence_ids]
            size = lambda s, n: len(s[:n].encode())
            c = dict(text=a, ids=e.ids, tokens=e.tokens, offsets_bytes=[[size(s, o[0]), size(s, o[1])] for s, o in zip(own, e.offsets)],
                     special_mask=e.special_tokens_mask, type_ids=e.type_ids, ids_without_special=t.encode(a, b, add_special_tokens=False).ids,
                     decoded=t.decode(e.ids), decoded_with_special=t.decode(e.ids, skip_special_tokens=False))
            if b is not None:
                c["pair"] = b
            cases.append(c)
        print(json.dumps(dict(name=name, tokenizer=text, cases=cases), separators=(",", ":")))


main()
