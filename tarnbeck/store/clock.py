"""How far a view's arrivals are in a snapshot, and generations without what is no longer kept then."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tarnbeck.plan.keep import CLOCK, kept, newest_of
from tarnbeck.plan.view import View
from tarnbeck.store.protocol import Building, Snapshot


def newest(snapshot: Snapshot, view: View) -> int | None:
    """The newest arrival among the events of a view up to the snapshot's cut; none if it keeps all or has none."""
    if view.clock is None:
        return None
    skip = len(view.keys) + 2
    return newest_of(view, (row[skip:] for part in snapshot.parts(view.name, level=CLOCK) for row in part))


def trimmed(building: Building, view: View, known: int | None, partial: pa.Table) -> pa.Table:
    """Takes what a view no longer keeps out of a generation's base, and out of the partial to be written into it.

    `known` is the newest arrival that any answer of the view had. Answers leave those panes out already, and ever will,
    for the newest arrival never goes back: so nothing has to wait for this, and nothing can tell that it was done.
    """
    if view.clock is None:
        return partial
    level = partial.column("level")
    arrived = pc.max(partial.filter(pc.equal(level, CLOCK)).column(f"s{view.clock}")).as_py()
    latest = max((moment for moment in (known, arrived) if moment is not None), default=None)
    stays = pa.repeat(pa.scalar(True), partial.num_rows)
    for number in range(len(view.window.panes)):
        bound = kept(view, number, latest)
        if bound is not None:
            building.trim(number, bound.pane)
            past = pc.and_(pc.equal(level, number), pc.less(partial.column("pane"), bound.pane))
            stays = pc.and_(stays, pc.invert(past))
    return partial.filter(stays)
