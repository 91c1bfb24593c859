"""Threads, Ctrl-C, progress, forks, closing, and that nothing leaks."""
import gc
import os
import resource
import signal
import tempfile
import threading
import time
import tracemalloc
import unittest

import numpy as np
import support

import ascribe

PROMPT, TARGET = "one two three", " four"
LONG = " ".join("word%d" % i for i in range(40))


class Threads(unittest.TestCase):

    def test_two_threads_one_model(self):
        m = ascribe.load(support.DECODER, threads=1)
        want = m.explain(PROMPT, target=TARGET).scores.tolist()
        text, wrong = m.generate(PROMPT, 6), []

        def work(k):
            for i in range(15):
                try:
                    ok = (m.generate(PROMPT, 6) == text if (i + k) % 3 == 0 else
                          m.explain(PROMPT, target=TARGET).scores.tolist() == want)
                    if not ok:
                        wrong.append("another answer")
                except Exception as e:  # pylint: disable=broad-except
                    wrong.append(repr(e))

        threads = [threading.Thread(target=work, args=(k, )) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_others_run_meanwhile(self):
        m = ascribe.load(support.DECODER, threads=1)
        done = threading.Event()

        def count():
            for _ in range(10):
                time.sleep(0.001)
            while not done.wait(0.01):  # again and again: it may not have begun
                m.cancel()

        t = threading.Thread(target=count)
        t.start()
        with self.assertRaises(ascribe.Cancelled):  # minutes, were there nobody to stop it
            m.explain(LONG, target=TARGET, method="integrated-gradients", rule="riemann-middle", steps=100000)
        done.set()
        t.join()

    def test_cancel_from_another_thread(self):
        m = ascribe.load(support.DECODER, threads=1)
        started, seen = threading.Event(), []

        def work():
            try:
                while True:
                    m.explain(LONG, target=TARGET, method="shapley-value-sampling", samples=3000,
                              progress=lambda *a: started.set())
            except ascribe.Error as e:
                seen.append(e)

        t = threading.Thread(target=work)
        t.start()
        self.assertTrue(started.wait(support.PATIENCE))
        m.cancel()
        t.join(support.PATIENCE)
        self.assertFalse(t.is_alive())
        self.assertIsInstance(seen[0], ascribe.Cancelled)
        m.logits(PROMPT)

    def test_closing_while_another_works(self):
        m = ascribe.load(support.DECODER, threads=1)
        started, seen = threading.Event(), []

        def work():
            r = m.explain(LONG, target=TARGET, method="shapley-value-sampling", samples=200,
                          progress=lambda *a: started.set())
            seen.append(r.scores.sum())

        t = threading.Thread(target=work)
        t.start()
        self.assertTrue(started.wait(support.PATIENCE))
        m.close()
        with self.assertRaises(ascribe.FailedPrecondition):
            m.logits(PROMPT)
        t.join()
        self.assertEqual(len(seen), 1)

    def test_garbage_of_a_busy_model(self):
        m = ascribe.load(support.DECODER, threads=1)
        kept = [m.explain(PROMPT, target=TARGET) for _ in range(3)]

        def drop(*_):
            kept.clear()
            gc.collect()

        m.explain(PROMPT, target=TARGET, progress=drop)
        self.assertEqual(kept, [])
        m.logits(PROMPT)


class Stops(unittest.TestCase):

    def test_progress(self):
        m = ascribe.load(support.DECODER, threads=1)
        seen = []
        m.explain(PROMPT, target=TARGET, progress=lambda what, done, total: seen.append((what, done, total)))
        self.assertTrue(seen)
        self.assertTrue(all(isinstance(w, str) and d >= 0 for w, d, _ in seen))
        m.explain(PROMPT, target=TARGET, progress=True)
        with self.assertRaises(ascribe.Cancelled):
            m.explain(PROMPT, target=TARGET, progress=lambda *a: False)

    def test_an_exception_of_the_callback(self):
        m = ascribe.load(support.DECODER, threads=1)
        want = m.explain(PROMPT, target=TARGET).scores.tolist()

        def fail(*_):
            raise KeyError("mine")

        for _ in range(3):
            with self.assertRaises(KeyError):
                m.explain(PROMPT, target=TARGET, progress=fail)
        self.assertEqual(m.explain(PROMPT, target=TARGET).scores.tolist(), want)

    def test_a_callback_may_not_use_the_model(self):
        m = ascribe.load(support.DECODER, threads=1)
        with self.assertRaises(ascribe.FailedPrecondition) as e:
            m.explain(PROMPT, target=TARGET, progress=lambda *a: m.logits(PROMPT))
        self.assertIn("callback", str(e.exception))
        m.logits(PROMPT)

    def test_ctrl_c(self):
        code, out = support.python("""
import os, signal, threading, time, sys
sys.path.insert(0, %r)
import support, ascribe
m = ascribe.load(support.DECODER, threads=1)
m.logits("one")
threading.Thread(target=support.press).start()
try:  # minutes, if it were not stopped
    m.explain(" ".join("w%%d" %% i for i in range(60)), target="x", method="integrated-gradients",
              rule="riemann-middle", steps=100000)
    print("ended")
except KeyboardInterrupt:
    print("interrupted")
print(m.generate("one", 2) == m.generate("one", 2), signal.getsignal(signal.SIGINT) is signal.default_int_handler)
""" % os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual((code, out), (0, "interrupted\nTrue True\n"))

    def test_a_handler_of_the_callers(self):
        code, out = support.python("""
import os, signal, threading, time, sys
sys.path.insert(0, %r)
import support, ascribe
seen = []
signal.signal(signal.SIGINT, lambda *a: seen.append(1))
m = ascribe.load(support.DECODER, threads=1)
threading.Thread(target=support.press).start()
while not seen:
    m.explain("one two three four", target="x", method="shapley-value-sampling", samples=50)
m.explain("one", target="x")
print(len(seen))
""" % os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual((code, out), (0, "1\n"))  # his handler ran, nothing was stopped

    def test_handlers_have_a_stack_of_their_own(self):
        code, out = support.python("""
import ctypes, sys
sys.path.insert(0, %r)
import support, ascribe
class Stack(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
libc, now = ctypes.CDLL(None), Stack()
def disabled():
    libc.sigaltstack(None, ctypes.byref(now))
    return bool(now.flags & 2)  # SS_DISABLE
before = disabled()
ascribe.load(support.DECODER, threads=1).logits("one")
print(before, disabled(), now.size >= 1 << 16)
""" % os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual((code, out), (0, "True False True\n"))

    def test_fork(self):
        m = ascribe.load(support.DECODER, threads=1)
        r = m.explain(PROMPT, target=TARGET)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                m.logits(PROMPT)
            except ascribe.FailedPrecondition as e:
                status = 0 if "fork" in str(e) and "spawn" in str(e) else 2
            status = status or (0 if r.scores.shape == (3, ) else 3)
            del r
            m.close()
            m2 = ascribe.load(support.DECODER, threads=1)
            m2.logits(PROMPT)
            os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        m.logits(PROMPT)

    def test_fork_with_threads(self):
        m = ascribe.load(support.DECODER, threads=2)
        value = m.explain(PROMPT, target=TARGET).value
        pid = os.fork()
        if pid == 0:  # its parent's threads are not there: it would wait for them for ever
            signal.alarm(300)
            with ascribe.load(support.DECODER, threads=2) as m2:
                os._exit(0 if m2.explain(PROMPT, target=TARGET).value == value else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(m.explain(PROMPT, target=TARGET).value, value)

    def test_streams_stop(self):
        m = ascribe.load(support.DECODER, threads=1)
        for _ in range(5):
            for _piece in m.generate(PROMPT, 500, stream=True, ignore_eos=True):
                break
        self.assertLess(threading.active_count(), 4)
        with self.assertRaises(ascribe.Error):
            list(m.generate([10**6], 5, stream=True))


class Ends(unittest.TestCase):

    def test_close(self):
        with ascribe.load(support.DECODER, threads=1) as m:
            r = m.explain(PROMPT, target=TARGET)
        for call in (lambda: m.logits(PROMPT), lambda: m.explain(PROMPT), lambda: m.tokenize(PROMPT), m.classes,
                     m.check_file, lambda: m.generate(PROMPT), lambda: m.detokenize([1]),
                     lambda: m.activations(PROMPT, "embed"), lambda: m.logprobs(PROMPT)):
            with self.assertRaises(ascribe.FailedPrecondition):
                call()
        m.close()
        self.assertIn("closed", repr(m))
        self.assertEqual(len(r.features), 3)
        r.to_html()

    def test_replaced_file(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "m.gguf")
            with open(support.DECODER, "rb") as f:
                data = f.read()
            with open(path, "wb") as f:
                f.write(data)
            m = ascribe.load(path, threads=1)
            m.check_file()
            os.unlink(path)
            with open(path, "wb") as f:
                f.write(data)
            with self.assertRaises(ascribe.FailedPrecondition):
                m.check_file()

    def test_the_library_frees_everything(self):
        m = ascribe.load(support.DECODER, threads=1)
        m.explain(PROMPT, target=TARGET)
        gc.collect()
        before = m.memory()["live_blocks"]
        for _ in range(5):
            r = m.explain(PROMPT, target=TARGET, per_token=True)
            a = [r.scores, r.matrix, m.activations(PROMPT, "*")["embed"], m.logits(PROMPT)]
            r.to_html()
            m.tokenize(PROMPT)
            del r, a
            for bad in (lambda: m.explain(PROMPT, steps="x"), lambda: m.logits([10**6])):
                with self.assertRaises(ascribe.Error):
                    bad()
        gc.collect()
        self.assertLess(m.memory()["live_blocks"] - before, 400)  # programs kept for the next time

    def test_ten_thousand_calls(self):
        with tempfile.TemporaryDirectory() as d:
            net = ascribe.load(support.write_mlp(os.path.join(d, "mlp.onnx")), threads=1)
            m = ascribe.load(support.DECODER, threads=1)
            x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)
            calls = [lambda: net(x), lambda: net(x.T.copy().T), lambda: m.tokenize(PROMPT), lambda: self.bad(net, x),
                     lambda: self.explained(net, x)]

            def rounds(n):
                for i in range(n):
                    calls[i % len(calls)]()

            rounds(1000)
            gc.collect()
            blocks = net.memory()["live_blocks"]
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            tracemalloc.start()
            rounds(500)
            gc.collect()
            python = [tracemalloc.get_traced_memory()[0]]
            for _ in range(3):  # a table of Python's own may become larger once
                rounds(3500)
                gc.collect()
                python.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
            self.assertLess(min(b - a for a, b in zip(python, python[1:])), 10000)
            self.assertLessEqual(net.memory()["live_blocks"], blocks + 8)
            self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss, 16 << 10)  # KiB

    def bad(self, net, x):
        with self.assertRaises(ascribe.Error):
            net.explain(x, nothing=1)

    def explained(self, net, x):
        r = net.explain(x, method="saliency", target=1)
        r.scores.sum()
        r.facts


if __name__ == "__main__":
    unittest.main()
