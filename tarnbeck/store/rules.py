"""The decisions of the progress protocol, one function each; the reason stands behind each rule.

Stores call these inside their transactions through the module (`rules.chained(...)`), so that the simulator can put a
rule's naive reading in its place and show what then goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from tarnbeck.cut import Cut
from tarnbeck.store.state import Epoch, Feeder, Intent, Stage, VersionState


def fresh_id(highest_ever: int, highest_present: int) -> int:
    """Ids are never used again: a stale writer's id must never name something new."""
    return max(highest_ever, highest_present) + 1


def origin_of(recorded: Cut | None, offered: Cut) -> Cut:
    """A stream's origin is recorded once: retention moves the log's first offset, never where chains begin."""
    return offered if recorded is None else recorded


def is_fed(version: VersionState, answers: bool) -> bool:
    """Every version that is not dropped is fed, whether it answers or not: else there is no way back to it."""
    del answers
    return version.feeder is Feeder.LIVE


def start_of(origin: Cut, fed: Iterable[Cut], feeder: Feeder) -> Cut:
    """A new version begins at the lowest fed cut, so the live query need not go back; a replayed one at the origin."""
    cuts = list(fed)
    return reduce(Cut.meet, cuts) if cuts and feeder is Feeder.LIVE else origin


def fenced(newest: int, token: int) -> bool:
    """A writer whose role was taken over ends: two that refuse each other's commits would never get on."""
    return token != newest


def moved(current: Cut, start: Cut) -> bool:
    """A commit is a compare-and-set on the cut its rows were filtered with: else rows are lost or counted twice."""
    return current != start


def fitting(fits: Sequence[bool]) -> Sequence[bool]:
    """Views commit each for itself: one that moved or vanished never holds up the others."""
    return fits


def advanced(old: Cut, planned: Cut) -> Cut:
    """A commit never lowers a cut in any partition: a view may be ahead of the batch that feeds it."""
    return old.advance(planned)


def epoch_to_write(version: VersionState) -> Epoch | None:
    """The open epoch as the transaction sees it: one remembered from planning may be closed, or gone."""
    return open_epoch(version)


def open_epoch(version: VersionState) -> Epoch | None:
    """The one epoch without an end."""
    return next((epoch for epoch in version.epochs if epoch.open), None)


def must_roll(epoch: Epoch, cut: Cut) -> bool:
    """Rolling an empty epoch changes nothing: else an idle view gathers empty epochs with every batch."""
    return epoch.start != cut


def chained(origin: Cut, generation: Cut | None, epochs: Sequence[Epoch], cut: Cut) -> bool:
    """Whether generation and epochs form one unbroken chain from the origin to the cut, the last epoch open."""
    place = origin if generation is None else generation
    for epoch in epochs:
        if epoch.start != place:
            return False
        place = cut if epoch.end is None else epoch.end
    return place == cut and bool(epochs) and epochs[-1].open


def answerable(version: VersionState) -> bool:
    """A version answers when its chain is unbroken; every read checks that."""
    generation = version.generation.cut if version.generation else None
    return chained(version.origin, generation, version.epochs, version.cut)


def base_stands(base: int | None, current: int | None) -> bool:
    """A generation built on another is refused once that one was replaced: what repaired it would be undone."""
    return base is None or base == current


def still_sealed(stage: Stage | None) -> bool:
    """Only a generation that is complete and was not removed meanwhile can be published."""
    return stage is Stage.SEALED


def may_leap(version: VersionState, cut: Cut) -> bool:
    """A leap is checked again inside its transaction: speed may have passed the lake, and an answer never goes back."""
    return cut.covers(version.cut)


def lifted(version: VersionState, cut: Cut) -> VersionState:
    """The version as if it had begun with the history that a generation at `cut` brings.

    Epochs are about the log alone, so they stay what they are; else a view that is fed without a pause could never
    take history in, for its cut is always ahead of the lake.
    """
    rows = max(version.cut.history, cut.history)
    epochs = tuple(
        replace(epoch, start=epoch.start.with_history(rows), end=epoch.end and epoch.end.with_history(rows))
        for epoch in version.epochs
    )
    return replace(version, cut=version.cut.with_history(rows), epochs=epochs)


def kept(version: VersionState, cut: Cut) -> Sequence[Epoch] | None:
    """The epochs that stay behind a generation at `cut`; None when an empty open one at that cut takes their place.

    Closed epochs go when they are covered; the open one never does, for a writer may be about to commit into it.
    """
    if cut.covers(version.cut):
        return None
    return [epoch for epoch in version.epochs if epoch.end is None or not cut.covers(epoch.end)]


def publishable(version: VersionState, cut: Cut, epochs: Sequence[Epoch]) -> bool:
    """A generation is published only if what remains goes on exactly where it ends."""
    return chained(version.origin, cut, epochs, version.cut)


def may_switch(target: VersionState, live: VersionState) -> bool:
    """A switch or rollback goes to a version that answers and is not behind: an answer never goes back."""
    return answerable(target) and target.cut.covers(live.cut)


def undisturbed(live: int, expected: int | None) -> bool:
    """A rollback takes back the switch it was asked for, not one that came between."""
    return expected is None or live == expected


def may_drop(version: int, live: int | None) -> bool:
    """The version that answers is never dropped: a view that answered once answers for ever."""
    return version != live


def may_hand_over(cut: Cut, fed: Iterable[Cut]) -> bool:
    """A replayed version joins the live query once it is not behind: else it would hold all the others back.

    What it lacks of the history holds up nobody: the live query reads the log only.
    """
    cuts = list(fed)
    return not cuts or cut.covers(reduce(Cut.meet, cuts).log)


def may_open(lake: Cut, start: Cut, open_intent: Intent | None) -> bool:
    """A lake commit is a compare-and-set on the lake's cut, and an open intent is redone, never replaced.

    Files and log have an intent each, and each compares only its own part of the cut.
    """
    return open_intent is None and lake == start


def landed(lake: Cut, end: Cut) -> Cut:
    """What an intent brought is added to the lake's cut: whoever loads files and whoever mirrors the log go on both."""
    return lake.advance(end)


def lease_over(lease: int, now: int) -> bool:
    """A generation being built belongs to its builder until the lease runs out."""
    return lease <= now


def goes_on(saved: Cut) -> Cut:
    """Who resumes a generation goes on at the cut saved with its rows: else events are lost or counted twice."""
    return saved


def unfinished(stage: Stage, version: VersionState | None) -> bool:
    """What was saved of a generation is kept while its version can't answer: else a long replay may never end."""
    return stage in (Stage.SAVED, Stage.SEALED) and version is not None and not answerable(version)
