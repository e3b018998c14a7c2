"""Answers that are kept up to date: many subscribers, one look at the store, one computation per question."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tarnbeck.errors import NotReady, TarnbeckError
from tarnbeck.serve import failures, sse
from tarnbeck.serve.changes import POLL, History, State, look, states
from tarnbeck.serve.parameters import LiveAsked
from tarnbeck.serve.trigger import Pace
from tarnbeck.store.protocol import Store

MOST = 400
"""Subscribers at the same time: fewer than the connections of the server, so that others still get an answer."""
_IDLE = 16
"""Questions that are remembered after their last subscriber has gone, for one that comes again."""
_NOTICES = 1024
_FRAMES = 8
"""Updates that are kept to be sent again: subscribers that keep pace with each other are told the same."""

_log = logging.getLogger(__name__)

Known = int | str | None
"""The state that a subscriber knows: its number, its id when it comes again, or none."""
Wish = tuple[Known, bool]
"""What a subscriber knows, and whether it wants closed windows only."""


@dataclass(frozen=True)
class _Made:
    """What was made of the newest state: up to which notice it reaches, its number and id, and updates to it."""

    noticed: int
    number: int
    id: str | None
    frames: dict[Wish, bytes | None]


class _Channel:
    """One question and the answer to it as it changes, for all who ask the same."""

    def __init__(self, store: Store, clock: Callable[[], int], asked: LiveAsked) -> None:
        self._store, self._clock, self._question = store, clock, asked.question
        self.view = asked.view
        self.state: State = None
        self._history = History()
        self.subscribers = 0
        self.error: TarnbeckError | None = None
        self.noticed = 0
        self._notices: deque[tuple[int, int]] = deque(maxlen=_NOTICES)
        self._made = _Made(0, 0, None, {})
        self._moved = asyncio.Event()
        self._turn = asyncio.Lock()
        self._making = threading.Lock()

    def notice(self) -> None:
        """Something may have changed."""
        self.noticed += 1
        self._notices.append((self.noticed, self._clock()))
        self.wake()

    def wake(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    def first_since(self, noticed: int) -> int | None:
        """When the first change was seen after that one, as far as is remembered."""
        if noticed == self.noticed:
            return None
        return next(moment for number, moment in self._notices if number > noticed)

    async def moved(self, seconds: float) -> None:
        await _within(self._moved, seconds)

    async def told(self, wish: Wish) -> tuple[_Made, bytes | None]:
        """The newest state, and what someone must be told who knows another."""
        ready = self._ready(wish)
        if ready is not None:
            return ready
        async with self._turn:
            ready = self._ready(wish)
            return await asyncio.to_thread(self._make, wish, self.noticed) if ready is None else ready

    def _ready(self, wish: Wish) -> tuple[_Made, bytes | None] | None:
        made = self._made
        return None if made.noticed < self.noticed or wish not in made.frames else (made, made.frames[wish])

    def _make(self, wish: Wish, noticed: int) -> tuple[_Made, bytes | None]:
        # A subscriber that leaves gives up its turn, but not the thread that works for it.
        with self._making:
            history = self._history
            if self._made.noticed < noticed:
                history.take(look(self._store, self._question(self._clock())))
                frames = self._made.frames if self._made.number == history.number else {}
                self._made = _Made(noticed, history.number, history.id, frames)
            known, only_closed = wish
            number = history.number_of(known) if isinstance(known, str) else known
            update = history.since(number, only_closed=only_closed)
            frame = None if update is None else sse.frame(update)
            if len(self._made.frames) < _FRAMES:
                self._made.frames[wish] = frame
            return self._made, frame


class Subscription:
    """One subscriber: what it knows, and when it is told more."""

    def __init__(self, live: Subscribers, channel: _Channel, asked: LiveAsked, last_id: str | None) -> None:
        self._live, self._channel, self._asked = live, channel, asked
        self._pace = Pace(asked.trigger)
        self._known: Known = last_id
        self._noticed = -1
        self._id: str | None = None
        self._over = False

    async def first(self) -> bytes:
        """The beginning of the stream; a wrong question is refused here."""
        try:
            return sse.RETRY + (await self._told() or b"")
        except NotReady:
            return sse.RETRY

    async def next(self) -> bytes | None:
        """The next update or sign of life, made only now that the one before was taken; None when all is over."""
        channel, loop = self._channel, asyncio.get_running_loop()
        beat = loop.time() + self._asked.heartbeat
        while not self._live.ended.is_set() and not self._over:
            if channel.error is not None:
                return self._failed(channel.error)
            left = beat - loop.time()
            if left <= 0:
                return sse.beat(self._id)
            first = channel.first_since(self._noticed)
            if first is None:
                await channel.moved(left)
                continue
            self._pace.changed(first)
            due = self._pace.left(self._live.clock())
            # The first update comes at once, also when it had to wait until the view could answer.
            if due and self._id is not None:
                await _within(self._live.ended, min(due / 1e6, left))
                continue
            try:
                frame = await self._told()
            except NotReady:
                continue
            except TarnbeckError as error:
                return self._failed(error)
            if frame is not None:
                return frame
        return None

    async def _told(self) -> bytes | None:
        self._noticed = self._channel.noticed
        self._pace.told()
        made, frame = await self._channel.told((self._known, self._asked.trigger.only_closed))
        self._known, self._id = made.number, made.id
        return frame

    def _failed(self, error: TarnbeckError) -> bytes:
        """Tells why there is no more."""
        self._over = True
        return sse.failure(failures.told(error))

    def close(self) -> None:
        self._live.leave(self._asked, self._channel)


class Subscribers:
    """All subscribers of a server; while there are none it does nothing."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store, self.clock = store, clock
        self._channels: dict[Hashable, _Channel] = {}
        self._idle: OrderedDict[Hashable, _Channel] = OrderedDict()
        self._polling: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()

    @property
    def subscribers(self) -> int:
        return sum(channel.subscribers for channel in list(self._channels.values()))

    def join(self, asked: LiveAsked, last_id: str | None) -> Subscription:
        """A new subscriber, or one that comes again and knows the state with this id."""
        if self.subscribers >= MOST:
            raise NotReady(
                f"live: there are {MOST} subscribers already, and no room for more\n"
                "  come again later, or ask now and then: GET /views/NAME"
            )
        found = states(self._store)
        channel = self._channels.get(asked.key)
        if channel is None or channel.error is not None:
            channel = self._idle.pop(asked.key, None) or _Channel(self._store, self.clock, asked)
            self._channels[asked.key] = channel
            channel.notice()
        channel.subscribers += 1
        self._notice(found)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        return Subscription(self, channel, asked, last_id)

    def leave(self, asked: LiveAsked, channel: _Channel) -> None:
        channel.subscribers -= 1
        if not channel.subscribers and self._channels.get(asked.key) is channel:
            del self._channels[asked.key]
            if channel.error is None:
                self._idle[asked.key] = channel
                if len(self._idle) > _IDLE:
                    self._idle.popitem(last=False)

    async def _poll(self) -> None:
        """Looks at the store as long as there are subscribers; what goes wrong there ends them all."""
        try:
            while self._channels and not self.ended.is_set():
                await _within(self.ended, POLL)
                self._notice(states(self._store))
        except Exception as error:
            _log.exception("live questions end, for the store can't be read")
            for channel in self._channels.values():
                channel.error = error if isinstance(error, TarnbeckError) else TarnbeckError(f"live: {error}")
                channel.wake()
        finally:
            self._polling = None

    def _notice(self, found: dict[str, State]) -> None:
        for channel in self._channels.values():
            state = found.get(channel.view)
            if state != channel.state:
                channel.state = state
                channel.notice()

    def end(self) -> None:
        """Ends all streams."""
        self.ended.set()
        for channel in self._channels.values():
            channel.wake()


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Waits for an event, or until the time is over."""
    with anyio.move_on_after(seconds):
        await event.wait()


class Stream(Response):
    """A response that goes on until the subscriber or the server ends it."""

    def __init__(self, subscription: Subscription, first: bytes) -> None:
        super().__init__(media_type=sse.KIND)
        # Proxies must not gather what is sent.
        self.headers["X-Accel-Buffering"] = "no"
        del self.headers["content-length"]
        self._subscription, self._first = subscription, first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_gone, receive, group.cancel_scope)
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                frame: bytes | None = self._first
                while frame is not None:
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
                    frame = await self._subscription.next()
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                group.cancel_scope.cancel()
        finally:
            self._subscription.close()


async def _gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """Ends the response when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
