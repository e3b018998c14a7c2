"""Cuts: what came from files is a partition of its own, and is told by name."""

from __future__ import annotations

import json

import pytest

from tarnbeck.cut import Cut
from tarnbeck.serve.wire import cut_from_json, cut_to_json

LOG = Cut.of("t", {0: 5, 1: 7})


def test_history_is_written_by_its_name_everywhere() -> None:
    cut = LOG.with_history(1200)
    assert str(cut) == "history:1200 0:5 1:7"
    assert json.loads(cut.to_json())["offsets"] == {"history": 1200, "0": 5, "1": 7}
    assert Cut.from_json(cut.to_json()) == cut
    assert cut_to_json(cut)["offsets"] == {"history": 1200, "0": 5, "1": 7}
    assert cut_from_json(json.loads(json.dumps(cut_to_json(cut)))) == cut


def test_history_is_compared_and_counted_like_any_partition() -> None:
    cut = LOG.with_history(1200)
    assert cut.covers(LOG)
    assert not LOG.covers(cut)
    assert LOG.advance(Cut("t").with_history(3)).history == 3
    assert cut.meet(LOG) == cut.log == LOG
    assert LOG.span_to(cut).records == 1200
    assert ((-1, 1199) in LOG.span_to(cut), (-1, 1200) in LOG.span_to(cut), (0, 1) in LOG.span_to(cut)) == (
        True,
        False,
        False,
    )
    assert cut.with_history(0) == LOG


def test_no_other_number_is_a_partition() -> None:
    with pytest.raises(ValueError, match="no negative partitions"):
        Cut.of("t", {-2: 1})
