"""Word count: of each second, of the last ten minutes, and ever; the same class runs in batch and in stream."""

from collections import Counter
from typing import Any

import tarnbeck as tb


class Words(tb.Custom):
    """How often each word occurs in lines of text, the most frequent first."""

    state = "words array<string>, counts array<bigint>"
    returns = "array<struct<word: string, count: bigint>>"

    def prepare(self, line: str) -> tuple[Any, ...]:
        return self.merge((line.split(), [1] * len(line.split())), ([], []))

    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        counts: Counter[str] = Counter()
        for words, numbers in (a, b):
            for word, number in zip(words, numbers, strict=True):
                counts[word] += number
        return sorted(counts), [counts[word] for word in sorted(counts)]

    def finish(self, state: tuple[Any, ...]) -> list[dict[str, Any]]:
        found = sorted(zip(*state, strict=True), key=lambda each: (-each[1], each[0]))
        return [{"word": word, "count": count} for word, count in found]


app = tb.App("words")
lines = app.stream("lines", "time timestamp, line string", time="time")

app.view("seconds", lines, window=tb.tumbling("1 second"), keep="1 hour", select={"words": Words("line")})
app.view("minutes", lines, window=tb.sliding("10 minutes", every="10 seconds"), select={"words": Words("line")})
app.view("ever", lines, select={"lines": tb.count(), "words": Words("line")})
