"""Text that arrives in pieces: the work is another thread's, so that the caller may take his time between them."""
from __future__ import annotations

import atexit
import codecs
import queue
import sys
import threading
from typing import Any, Callable, Iterator

#: Streams that are at work: how to stop them, and their threads.
_live: set[tuple[threading.Event, threading.Thread]] = set()


@atexit.register
def _stop_all() -> None:
    """While threads can still run; afterwards nobody could wait for them."""
    for stopped, _ in list(_live):
        stopped.set()
    for _, thread in list(_live):
        thread.join()


def pieces(generate: Callable[[Callable[[int, float, bytes, list[tuple[int, float]]], bool]], Any]) -> Iterator[str]:
    """The texts that generate(on_token) hands to on_token, in whole characters; closing the iterator stops it."""
    found: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    failed: list[BaseException] = []
    stopped = threading.Event()

    def on_token(id: int, logprob: float, text: bytes, top: list[tuple[int, float]]) -> bool:
        found.put(text)
        return not stopped.is_set()

    def work() -> None:
        try:
            generate(on_token)
        except BaseException as e:
            failed.append(e)
        found.put(None)

    thread = threading.Thread(target=work, name="ascribe-generate", daemon=True)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    entry = (stopped, thread)
    _live.add(entry)
    thread.start()
    try:
        while (piece := found.get()) is not None:
            text = decoder.decode(piece)
            if text:
                yield text
        last = decoder.decode(b"", True)
        if last:
            yield last
    finally:
        stopped.set()
        if not sys.is_finalizing():
            thread.join()
        _live.discard(entry)
    if failed:
        raise failed[0]
