"""What every store promises when several use it at once, or one of them is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.contract.stores import STORES, Case, cut, rows_of

ROOT = Path(__file__).parents[2]


def test_an_open_snapshot_neither_blocks_a_commit_nor_sees_it(case: Case) -> None:
    version = case.view().id
    case.feed(version, cut(1), [("EUR", 0, 0, 1)])
    with case.store.snapshot() as before:
        case.feed(version, cut(2), [("EUR", 0, 0, 1)])
        with case.store.snapshot() as after:
            assert (rows_of(before), before.versions["ohlc"].cut) == ([("EUR", 0, 0, 1)], cut(1))
            assert (rows_of(after), after.versions["ohlc"].cut) == ([("EUR", 0, 0, 2)], cut(2))


def test_readers_in_threads_always_see_rows_and_cut_of_one_moment(case: Case) -> None:
    versions = [case.view(name).id for name in "ab"]
    stop, wrong = threading.Event(), list[object]()

    def read() -> None:
        while not stop.is_set():
            with case.store.snapshot() as snapshot:
                for name, version in snapshot.versions.items():
                    counted = sum(int(row[-1] or 0) for row in rows_of(snapshot, name))
                    if counted != version.cut[0]:
                        wrong.append((counted, version))
                if len({version.cut for version in snapshot.versions.values()}) != 1:
                    wrong.append(snapshot.versions)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(100):
        shares = [case.share(version, cut(i), cut(i + 1), [("EUR", 0, 0, 1)]) for version in versions]
        assert len(case.store.commit(None, shares).done) == 2
        if i % 10 == 9:
            case.store.roll(versions[0])
            case.built(versions[0], cut(i + 1), [("EUR", 0, 0, i + 1)])
            case.store.collect()
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_writers_in_threads_take_turns_and_none_is_lost(case: Case) -> None:
    names = "abcd"
    versions = {name: case.view(name).id for name in names}

    def write(name: str) -> None:
        for i in range(25):
            case.store.commit(None, [case.share(versions[name], cut(i), cut(i + 1), [("EUR", 0, 0, 1)])])

    writers = [threading.Thread(target=write, args=(name,)) for name in names]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [case.rows(name) for name in names] == [[("EUR", 0, 0, 25)]] * len(names)


_CHILD = """
import os, signal, sys
from pathlib import Path
from tarnbeck.plan.layout import Layout
from tarnbeck.store.protocol import Contribution
from tests.contract.stores import COUNTS, STORES, cut, table

kind, folder, version, how = sys.argv[1:]
store = STORES[kind](Path(folder), lambda: 0)
merged = 0

def merge(left, right):
    global merged
    merged += 1
    if how == "inside" and merged == 3000:
        os.kill(os.getpid(), signal.SIGKILL)
    return (left[0] + right[0],)

layout = Layout(COUNTS.keys, COUNTS.states, merge)
for i in range(1, 40):
    rows = table(layout, [(f"key{k}", 0, 0, 1) for k in range(500)])
    done = store.commit(None, [Contribution(int(version), cut(i), cut(i + 1), layout, rows)]).done
    assert done, "refused"
    if how == "after" and i == 5:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def _child(case: Case, version: int, how: str) -> subprocess.CompletedProcess[str]:
    kind = next(name for name, found in STORES.items() if found is case.open)
    return subprocess.run(
        [sys.executable, "-c", _CHILD, kind, str(case.folder), str(version), how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.crash
@pytest.mark.parametrize(("how", "commits"), [("inside", 6), ("after", 5)])
def test_a_killed_writer_leaves_whole_commits_and_nothing_else(case: Case, how: str, commits: int) -> None:
    version = case.view().id
    case.feed(version, cut(1), [])
    ended = _child(case, version, how)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert case.state(version).cut == cut(1 + commits)
    assert sorted(case.rows()) == sorted((f"key{k}", 0, 0, commits) for k in range(500))
    case.feed(version, cut(50), [("key0", 0, 0, 1)])


@pytest.mark.crash
def test_two_processes_commit_to_one_store_without_losing_anything(case: Case) -> None:
    first, second = case.view("a").id, case.view("b").id
    for version in (first, second):
        case.feed(version, cut(1), [])
    other = threading.Thread(target=lambda: ended.append(_child(case, first, "not")))
    ended: list[subprocess.CompletedProcess[str]] = []
    other.start()
    for i in range(1, 40):
        rows = [(f"key{k}", 0, 0, 1) for k in range(500)]
        assert case.store.commit(None, [case.share(second, cut(i), cut(i + 1), rows)]).done
    other.join()
    assert ended[0].returncode == 0, ended[0].stderr
    assert case.rows("a") == case.rows("b")
    assert {row[-1] for row in case.rows("a")} == {39}
