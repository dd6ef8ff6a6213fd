"""Properties of batches, profiles, the log, and of a stream over a connection that breaks at any moment."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chord.errors import RemoteProtocolError
from pubsub import messages
from pubsub.batch import Batch
from pubsub.encoding import encode, fitting
from pubsub.layout import Origin
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES, MAX_HISTORY, MAX_NUMBER
from pubsub.log import Log
from pubsub.messages import Ack, Subscribe
from pubsub.profile import DURABILITY, RELIABILITY, Profile, incompatible
from pubsub.subscription import SILENT_FOR_S, Subscription
from pubsub.writer import EXPECTED_FOR_S, Writer

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
topics = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)
origins = st.builds(Origin, topics, u64, u64, u32, u32, st.integers(0, 255))
payloads = st.lists(st.binary(max_size=40), min_size=1, max_size=70) | st.integers(1, 200).map(lambda n: [b"same"] * n)


@st.composite
def batches(draw):
    body = draw(payloads)
    start = draw(st.integers(2**33, 2**50))
    times = draw(st.lists(st.integers(-(2**30), 2**30), min_size=len(body), max_size=len(body)))

    def column(values):
        return st.none() | st.lists(values, min_size=len(body), max_size=len(body))

    return {
        "origin": draw(origins),
        "first": draw(st.integers(1, MAX_NUMBER - MAX_BATCH_SAMPLES)),
        "payloads": body,
        "times_us": [start, *(start + delta for delta in times[1:])],
        "key_hashes": draw(column(u64)),
        "expiries_ms": draw(column(u32)),
    }


@given(batches(), st.data())
def test_a_batch_gives_back_every_column(given_batch, data):
    """Whatever is put in, in whatever combination of columns, from whatever sample on."""
    batch = Batch(bytes(encode(**given_batch)))
    skip = data.draw(st.integers(0, batch.count - 1))

    assert batch.origin == given_batch["origin"]
    assert batch.first == given_batch["first"]
    assert list(batch.published_us(skip)) == given_batch["times_us"][skip:]
    assert list(batch.payloads(skip)) == given_batch["payloads"][skip:]
    for name in ("key_hashes", "expiries_ms"):
        column = getattr(batch, name)
        assert (None if column is None else list(column)) == given_batch[name]


@given(batches(), st.data())
def test_no_changed_bit_goes_unnoticed(given_batch, data):
    """But in the twenty bytes before the checksum that a broker may write, and those that name the layout."""
    frame = bytearray(encode(**given_batch))
    at = data.draw(st.integers(20, len(frame) - 1))
    frame[at] ^= 1 << data.draw(st.integers(0, 7))

    with pytest.raises(RemoteProtocolError):
        Batch(bytes(frame))


@given(st.binary(max_size=400) | st.binary(max_size=400).map(lambda tail: b"\xc1\x01\x00" + tail))
def test_whatever_arrives_is_read_or_refused(frame):
    """With a RemoteProtocolError, by each of the three that read frames."""
    for read in (Batch, messages.from_subscriber, messages.from_publisher):
        try:
            read(frame)
        except RemoteProtocolError:
            continue


@given(st.lists(st.integers(0, 3 * BATCH_BYTES // 2), min_size=1, max_size=8))
def test_a_batch_takes_what_fits_and_no_more(sizes):
    """All but the last sample of it stay below the bound, and it stops only when that is reached."""
    count, lengths = fitting([bytes(size) for size in sizes])

    assert list(lengths) == sizes[:count]
    assert sum(sizes[: count - 1]) < BATCH_BYTES
    assert count == len(sizes) or sum(sizes[:count]) >= BATCH_BYTES


profiles = st.builds(
    Profile, st.sampled_from(RELIABILITY), st.sampled_from(DURABILITY), st.integers(0, MAX_HISTORY), st.just("shared")
)


def weaker(one, other):
    """The policies of two profiles, the weaker of each."""
    return Profile(
        min(one.reliability, other.reliability, key=RELIABILITY.index),
        min(one.durability, other.durability, key=DURABILITY.index),
        min(one.history, other.history),
    )


@given(profiles, profiles, profiles)
def test_matching_is_monotone(offered, requested, other):
    """Requesting less, or offering more, never breaks a match; a profile matches itself."""
    missing = set(incompatible(offered, requested))

    assert set(incompatible(offered, weaker(requested, other))) <= missing
    assert missing <= set(incompatible(weaker(offered, other), requested))
    assert not incompatible(offered, offered)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 30)), max_size=40))
def test_the_log_is_a_list_that_forgets_its_front(steps):
    """Against the dumbest model: every batch ever, and how many were dropped."""
    log = Log()
    model = []
    dropped = 0
    for count, back in steps:
        first = model[-1][-1] + 1 if model else 1
        log.append(b"", count, 10 * count)
        model.append(range(first, first + count))
        keep_from = model[-1][-1] - back
        log.trim(keep_from)
        while dropped < len(model) and model[dropped][-1] < keep_from:
            dropped += 1

        assert (log.base, log.end) == (dropped, len(model))
        assert [log[number].first for number in range(log.base, log.end)] == [kept[0] for kept in model[dropped:]]
        for sequence in range(1, model[-1][-1] + 1):
            holds = next(number for number, kept in enumerate(model) if sequence in kept)
            assert log.number_of(sequence) == max(holds, dropped)


class Connected(RuleBasedStateMachine):
    """A writer and a reader over two pipes; whatever is in them may be lost when the connection breaks."""

    reliability = "at_least_once"

    def __init__(self):
        super().__init__()
        offered = Profile(durability="transient", history=3)
        self.writer = Writer(offered)
        self.writer.settle(["r"], 0.0)
        self.subscription = Subscription(1, "t", 7, "r", Profile(self.reliability), 0.0)
        self.now = 0.0
        self.route = b"0"
        self.origin = Origin("t", 1, 7)
        self.to_writer = [self.subscription.subscribe(0.0)]
        self.to_reader = []
        self.delivered = []
        self.start = 0
        self.queue = []

    @rule(count=st.integers(1, 4))
    def publish(self, count):
        first = self.writer.log.next_sequence
        frame = encode(self.origin, first, [b"x"] * count, [0] * count)
        self.writer.append(bytes(frame), count, 100 * count)
        self._serve()

    @rule()
    def deliver_to_reader(self):
        if self.to_reader:
            self._on_reader(self.to_reader.pop(0))

    @rule()
    def deliver_to_writer(self):
        if self.to_writer:
            self._on_writer(self.to_writer.pop(0))
            self._serve()

    @rule()
    def application_takes_a_batch(self):
        if self.queue:
            self.subscription.taken = self.queue.pop(0)

    @rule()
    def the_connection_breaks(self):
        self.to_writer.clear()
        self.to_reader.clear()
        self.route += b"0"

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0]))
    def time_passes(self, seconds):
        # Neither is silent for so long that the writer gives the reader up: that may lose samples.
        self.now += seconds
        for reader in self.writer.readers.values():
            reader.heard_at = self.now
        self._tick()

    @precondition(lambda self: self.subscription.next is not None)
    @rule()
    def the_log_is_trimmed(self):
        self.writer.trim()

    @invariant()
    def what_was_delivered_has_no_gap_and_no_duplicate(self):
        assert self.delivered == sorted(set(self.delivered))
        if self.reliability == "at_least_once":
            assert self.delivered == list(range(1, len(self.delivered) + 1))
            assert self.subscription.lost == self.start == 0

    def teardown(self):
        """Once nothing breaks any more, everything arrives, or is counted as lost."""
        for _ in range(40):
            while self.to_writer or self.to_reader:
                self.deliver_to_writer()
                self.deliver_to_reader()
            while self.queue:
                self.application_takes_a_batch()
            self.now += 0.5
            self._tick()
        published = self.writer.log.next_sequence - 1
        assert self.start + len(self.delivered) + self.subscription.lost == published
        assert self.subscription.next == published + 1
        if self.reliability == "at_least_once" and self.writer.settled:
            assert self.writer.delivered == published

    def _tick(self):
        again = self.subscription.tick(self.now)
        ack = self.subscription.ack(self.now)
        self.to_writer += [message for message in (again, ack) if message is not None]
        for reader in self.writer.readers.values():
            if reader.route == self.route:
                self.to_reader.append(messages.Heartbeat(1, self.writer.log.next_sequence - 1))

    def _serve(self):
        for reader in self.writer.readers.values():
            if reader.route != self.route:
                continue
            for batch in self.writer.due(reader):
                self.to_reader.append(batch)
                reader.sent(batch)

    def _on_writer(self, message):
        if isinstance(message, Subscribe):
            _, after = self.writer.subscribe(self.route, message, self.now)
            self.to_reader.append(messages.Subscribed(1, after))
        elif isinstance(message, Ack):
            reader = self.writer.readers.get("r")
            if reader is not None and reader.route == self.route:
                self.writer.acknowledge(reader, message, self.now)

    def _on_reader(self, message):
        answer = None
        if isinstance(message, messages.Subscribed):
            if self.subscription.next is None:
                self.start = message.after
            self.subscription.on_subscribed(message.after, self.now)
        elif isinstance(message, messages.Heartbeat):
            answer = self.subscription.on_heartbeat(message.last, self.now)
        else:
            batch = Batch(message.frame)
            skip = self.subscription.on_batch(batch, self.now)
            if skip is not None:
                self.delivered += range(batch.first + skip, batch.last + 1)
                self.queue.append(batch.last)
            elif self.subscription.gap:
                answer = self.subscription.subscribe(self.now)
        ack = self.subscription.ack(self.now)
        self.to_writer += [said for said in (answer, ack) if said is not None]


class ConnectedBestEffort(Connected):
    """The same for a reader that may lose samples, and must count them."""

    reliability = "best_effort"


assert EXPECTED_FOR_S > SILENT_FOR_S

TestAtLeastOnce = Connected.TestCase
TestAtLeastOnce.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestBestEffort = ConnectedBestEffort.TestCase
TestBestEffort.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
