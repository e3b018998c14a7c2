"""Alerts in SQLite: rules, states, notices, and an outbox of deliveries that outlives the process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence

from tarnbeck.store import catalog
from tarnbeck.store.connection import Readers, Writer
from tarnbeck.store.protocol import Told
from tarnbeck.store.state import AlertRule, AlertState, Delivery, Notice

KEPT = 1_000
"""Notices that are kept, whether they were delivered or not."""
WAITING, SENT, FAILED, RETRIED, DROPPED = "waiting", "sent", "failed", "retried", "dropped"

_COUNT = "INSERT INTO delivery_totals VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count"


class SQLiteAlerts:
    """What is known of alerts, in the store's catalog."""

    def __init__(self, writer: Writer, readers: Readers, clock: Callable[[], int]) -> None:
        self._writer, self._readers, self._clock = writer, readers, clock

    def declare(self, rules: Mapping[str, str], destinations: Collection[str]) -> None:
        """Takes over the rules and destinations that are declared now."""
        waiting = {destination for destination, outcome in self.totals() if outcome == WAITING}
        with self._writer.transaction() as con:
            for gone in waiting - set(destinations):
                query = "UPDATE deliveries SET state = ?, error = ? WHERE destination = ? AND state = ?"
                given_up = con.execute(query, (FAILED, "it is declared no more", gone, WAITING)).rowcount
                con.execute(_COUNT, (gone, FAILED, given_up))
            for (known,) in con.execute("SELECT rule FROM alert_rules").fetchall():
                if known not in rules:
                    con.execute("DELETE FROM alert_rules WHERE rule = ?", (known,))
            con.executemany(
                "INSERT INTO alert_rules VALUES (?, ?, NULL) "
                "ON CONFLICT DO UPDATE SET definition = excluded.definition, error = NULL",
                rules.items(),
            )

    def rules(self) -> Sequence[AlertRule]:
        with self._readers.reader() as reader:
            query = "SELECT rule, definition, error FROM alert_rules ORDER BY rule"
            return [AlertRule(*row) for row in reader.con.execute(query)]

    def note(self, rule: str, error: str | None) -> None:
        """Keeps what stands in the way of a rule, or that nothing does."""
        with self._writer.transaction() as con:
            con.execute("UPDATE alert_rules SET error = ? WHERE rule = ?", (error, rule))

    def states(self) -> Sequence[AlertState]:
        """All keys that are pending or firing, by rule and keys."""
        with self._readers.reader() as reader:
            query = "SELECT rule, keys, state, since, told, times, facts FROM alert_states ORDER BY rule, keys"
            return [AlertState(*row) for row in reader.con.execute(query)]

    def change(
        self, changed: Sequence[AlertState], over: Sequence[tuple[str, str]], told: Sequence[Told]
    ) -> Mapping[str, int]:
        """Changes states, ends those that are over, and lets notices wait for delivery, all or nothing."""
        with self._writer.transaction() as con:
            for each in changed:
                row = each.rule, each.keys, each.state, each.since, each.told, each.times, each.facts
                con.execute("REPLACE INTO alert_states VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            con.executemany("DELETE FROM alert_states WHERE rule = ? AND keys = ?", over)
            for notice in told:
                number = catalog.new_id(con, "notice")
                content = number, notice.rule, notice.state, self._clock(), notice.body(number)
                con.execute("INSERT INTO notices VALUES (?, ?, ?, ?, ?)", content)
                for destination in notice.to:
                    con.execute(
                        "INSERT INTO deliveries VALUES (?, ?, ?, 0, NULL, NULL)", (number, destination, WAITING)
                    )
            return self._forget(con) if told else {}

    def _forget(self, con: sqlite3.Connection) -> dict[str, int]:
        """Removes all but the newest notices."""
        bound = "(SELECT id FROM notices ORDER BY id DESC LIMIT 1 OFFSET ?)"
        query = f"SELECT destination, count(*) FROM deliveries WHERE state = ? AND notice <= {bound} GROUP BY 1"  # noqa: S608
        dropped: dict[str, int] = dict(con.execute(query, (WAITING, KEPT)).fetchall())
        con.executemany(_COUNT, [(destination, DROPPED, count) for destination, count in dropped.items()])
        con.execute(f"DELETE FROM notices WHERE id <= {bound}", (KEPT,))  # noqa: S608
        return dropped

    def notices(self, most: int) -> Sequence[Notice]:
        """The newest notices, the newest first, with what became of each."""
        with self._readers.reader() as reader:
            con = reader.con
            rows = con.execute("SELECT id, rule, state, moment, body FROM notices ORDER BY id DESC LIMIT ?", (most,))
            return [_notice(con, *row) for row in rows.fetchall()]

    def waiting(self, destination: str, most: int) -> Sequence[Notice]:
        """What is still to be told to a destination, the oldest first."""
        with self._readers.reader() as reader:
            con = reader.con
            rows = con.execute(
                "SELECT n.id, n.rule, n.state, n.moment, n.body FROM deliveries d JOIN notices n ON n.id = d.notice "
                "WHERE d.state = 'waiting' AND d.destination = ? ORDER BY d.notice LIMIT ?",
                (destination, most),
            )
            return [_notice(con, *row) for row in rows.fetchall()]

    def tried(self, notice: int, destination: str, error: str | None, *, over: bool) -> None:
        """Keeps the outcome of one more try: it worked when there is no error; when it is `over`, it was the last."""
        state = SENT if error is None else FAILED if over else WAITING
        with self._writer.transaction() as con:
            con.execute(
                "UPDATE deliveries SET state = ?, tries = tries + 1, moment = ?, error = ? "
                "WHERE notice = ? AND destination = ?",
                (state, self._clock(), error, notice, destination),
            )
            con.execute(_COUNT, (destination, RETRIED if state == WAITING else state, 1))

    def totals(self) -> Mapping[tuple[str, str], int]:
        """How often each outcome was met, by destination and outcome."""
        with self._readers.reader() as reader:
            rows = reader.con.execute("SELECT destination, outcome, count FROM delivery_totals ORDER BY 1, 2")
            found = {(destination, outcome): count for destination, outcome, count in rows}
            rows = reader.con.execute("SELECT destination, count(*) FROM deliveries WHERE state = 'waiting' GROUP BY 1")
            return found | {(destination, WAITING): count for destination, count in rows}


def _notice(con: sqlite3.Connection, number: int, rule: str, state: str, at: int, body: str) -> Notice:
    return Notice(number, rule, state, at, body, _deliveries(con, number))


def _deliveries(con: sqlite3.Connection, notice: int) -> tuple[Delivery, ...]:
    query = (
        "SELECT notice, destination, state, tries, moment, error FROM deliveries WHERE notice = ? ORDER BY destination"
    )
    return tuple(Delivery(*row) for row in con.execute(query, (notice,)))
