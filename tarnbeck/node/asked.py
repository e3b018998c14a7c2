"""The jobs that the work process was asked for: how far each is, for whoever asked and for all who look."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tarnbeck.errors import NotReady
from tarnbeck.node.channel import Message

PLACES = ("view", "views", "stream")
"""What a job says of where it works; the rest of it may be long, or nobody's business."""
GONE = "the work process ended and is being started again\n  ask again in a moment"


class Asked:
    """Jobs from the moment they are asked for until they have ended, even if nobody waits for them any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._waiting: dict[int, queue.SimpleQueue[Message]] = {}
        self._going: dict[int, dict[str, Any]] = {}

    def run(self, send: Callable[[Message], bool], job: dict[str, Any]) -> Iterator[Message]:
        """Asks for a job and gives its updates; the last is a result or an error."""
        mine: queue.SimpleQueue[Message] = queue.SimpleQueue()
        with self._lock:
            self._count += 1
            number = self._count
            self._waiting[number] = mine
            self._going[number] = {"do": job.get("do"), "view": _where(job), "began": time.monotonic()}
        try:
            if not send({"id": number, "job": job}):
                # Asked between the end of one work process and the start of the next: nobody would ever answer.
                self.take({"id": number, "error": {"kind": NotReady.__name__, "message": GONE}})
            while True:
                update = mine.get()
                yield {key: value for key, value in update.items() if key != "id"}
                if _last(update):
                    return
        finally:
            with self._lock:
                del self._waiting[number]

    def take(self, update: Message) -> None:
        """What the work process tells of a job."""
        number = update["id"]
        with self._lock:
            if _last(update):
                self._going.pop(number, None)
            elif number in self._going:
                known = self._going[number]
                self._going[number] = {**update, "do": known["do"], "began": known["began"]}
            waiting = self._waiting.get(number)
        if waiting is not None:
            waiting.put(update)

    def lost(self, message: str) -> None:
        """The work process ended, and with it all that it was asked for."""
        with self._lock:
            waiting = list(self._waiting.values())
            self._going.clear()
        for each in waiting:
            each.put({"error": {"kind": "SetupError", "message": message}})

    def going(self) -> list[dict[str, Any]]:
        """Every job that has not ended: what it does, where, how far it is, and for how long already."""
        with self._lock:
            found = list(self._going.values())
        return [
            {
                "job": each["do"],
                "view": each.get("view"),
                "step": each.get("step", "waiting"),
                "done": each.get("done"),
                "left": each.get("left"),
                "seconds": round(time.monotonic() - each["began"], 1),
            }
            for each in found
        ]


def _where(job: dict[str, Any]) -> str | None:
    named = [job[place] for place in PLACES if job.get(place)]
    return None if not named else named[0] if isinstance(named[0], str) else ", ".join(map(str, named[0]))


def _last(update: Message) -> bool:
    return "result" in update or "error" in update
