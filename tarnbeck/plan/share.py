"""Views of one stream as few aggregations: what several of them need is grouped once and then handed to each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tarnbeck.expression import Expression
from tarnbeck.plan.view import StateCall, View
from tarnbeck.window.pane import Fixed, Pane, Whole

Path = tuple[Pane, ...]
"""The panes through which an aggregation comes from the events: the first is grouped from them, each other from the
partial of the one before."""


@dataclass(frozen=True)
class Aggregation:
    """One grouping: of events, or of what another aggregation gave.

    `view` has the keys and the union of the states; `level` is the place of its pane in the view's window. `source` is
    the place of the aggregation that it regroups, None for events, and `columns` are the columns that it takes of it.
    """

    view: View
    level: int
    source: int | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Where one level of a view comes from: these columns of this aggregation, in the order of the view's layout."""

    aggregation: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Shared:
    """Aggregations, each behind the one it regroups, and for each view, in the order given, the parts of its levels."""

    aggregations: tuple[Aggregation, ...]
    views: tuple[tuple[Part, ...], ...]


@dataclass
class _Node:
    """An aggregation while it is being planned: whatever needs it adds its states."""

    view: View
    level: int
    states: dict[StateCall, None]

    def planned(self) -> View:
        return dataclasses.replace(self.view, states=tuple(self.states), outputs=())


def share(views: Sequence[View]) -> Shared:
    """The least work that gives all of these views, which must be of one stream.

    Views that group the same events by the same keys share a pass over them if their panes are the same, too. A
    longer pane that is made of shorter ones, all of them whole, is put together from these, as a rollup's levels are:
    regrouping partials costs little beside another pass over the events.
    """
    aggregations: list[Aggregation] = []
    parts: dict[int, tuple[Part, ...]] = {}
    for members in _groups(views):
        nodes: dict[Path, _Node] = {}
        # States that are packed are dear, and so are made as seldom as possible: never for panes shorter than their
        # own. Views that have such come first, and the others join what is there; short panes come before long ones.
        order = sorted(members, key=lambda i: (not views[i].packed, _length(views[i].window.panes[0])))
        paths = {i: _join(views[i], nodes) for i in order}
        places = {path: len(aggregations) + place for place, path in enumerate(nodes)}
        aggregations += [_aggregation(path, nodes, places) for path in nodes]
        for i in members:
            parts[i] = tuple(Part(places[path], _columns(views[i], nodes[path].planned())) for path in paths[i])
    return Shared(tuple(aggregations), tuple(parts[i] for i in range(len(views))))


def _groups(views: Sequence[View]) -> Iterator[list[int]]:
    """The places of views that take the same events and group them by the same keys, whatever these are called."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, view in enumerate(views):
        same = (frozenset(key.expression for key in view.keys), view.where, view.late)
        groups.setdefault(same, []).append(place)
    yield from groups.values()


def _join(view: View, nodes: dict[Path, _Node]) -> list[Path]:
    """Adds what a view needs; gives the path of each of its levels."""
    paths: list[Path] = []
    for level, pane in enumerate(view.window.panes):
        path = (*paths[-1], pane) if paths else _start(view, pane, nodes)
        nodes.setdefault(path, _Node(view, level, {}))
        paths.append(path)
    for end in range(1, len(paths[-1]) + 1):
        nodes[paths[-1][:end]].states.update(dict.fromkeys(view.states))
    return paths


def _start(view: View, pane: Pane, nodes: dict[Path, _Node]) -> Path:
    """The path of a view's finest pane: from the events, unless others have what it can be put together from."""
    if view.packed:
        return (pane,)
    equal = [path for path in nodes if path[-1] == pane]
    finer = [path for path in nodes if _made_of(pane, path[-1])]
    if equal:
        return min(equal, key=len)
    return (*max(finer, key=lambda path: _length(path[-1])), pane) if finer else (pane,)


def _made_of(pane: Pane, finer: Pane) -> bool:
    """Whether every pane of `finer` lies in one of `pane`; a calendar's are left to the rollup that declares them."""
    if isinstance(pane, Whole):
        return True
    if not (isinstance(pane, Fixed) and isinstance(finer, Fixed)):
        return False
    return pane.length % finer.length == 0 and (pane.origin - finer.origin) % finer.length == 0


def _length(pane: Pane) -> float:
    return pane.length if isinstance(pane, Fixed) else float("inf")


def _aggregation(path: Path, nodes: dict[Path, _Node], places: dict[Path, int]) -> Aggregation:
    node = nodes[path]
    view = node.planned()
    if len(path) == 1:
        return Aggregation(view, node.level, None, ())
    above = path[:-1]
    return Aggregation(view, node.level, places[above], _columns(view, nodes[above].planned()))


def _columns(view: View, found: View) -> tuple[str, ...]:
    """The columns of a partial of `found`, without its level, that are those of a partial of `view`."""
    keys: dict[Expression, str] = {key.expression: f"k{i}" for i, key in enumerate(found.keys)}
    states: dict[StateCall, list[str]] = {}
    place = 0
    for call in found.states:
        states[call] = [f"s{place + i}" for i in range(len(call.state.fields))]
        place += len(call.state.fields)
    chosen = [column for call in view.states for column in states[call]]
    return (*(keys[key.expression] for key in view.keys), "pane", *chosen)
