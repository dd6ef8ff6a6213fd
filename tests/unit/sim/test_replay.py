"""A replay notices whatever is not as it was recorded, and says at which event."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chord import wire
from chord.driven import Output, Send
from chord.effects import Operation
from chord.host import Host
from chord.kernel import Kernel
from chord.messages import NextHop, Request
from chord.recorded import OPERATIONS, AnyEvent, Asked, Began, Clock, Kept, Sent, Unsent
from chord.recording import RecordedKernel
from chord.settings import Settings
from sim.cli_replay import _show
from sim.cluster import Cluster, address_of
from sim.recording_file import Unreadable
from sim.replay import _Replayer, replay
from tests.recordings import put_together, start_recorded, taken_apart
from tests.unit.sim.commands import sim

ME = address_of(200)


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    """Two seconds of a simulated process that joined a ring of three."""
    path = tmp_path_factory.mktemp("recording") / "node.rec"
    cluster = Cluster(1, Settings(stabilize_s=0.1))
    cluster.start_many(3)
    recording = start_recorded(cluster, ME, [address_of(0)], path)
    cluster.scheduler.run_for(2.0)
    recording.close()
    return path


@settings(max_examples=25)
@given(data=st.data())
def test_a_changed_byte_is_noticed_at_its_event(recording, data):
    """Whichever effect it is in, the first difference is that effect of that event."""
    first, events = taken_apart(recording)
    numbers = [number for number, event in enumerate(events) if event.effects]
    number = data.draw(st.sampled_from(numbers))
    place = data.draw(st.integers(0, len(events[number].effects) - 1))
    effect = events[number].effects[place]
    body = bytearray(effect.row if isinstance(effect, Kept) else effect.frame)
    body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
    changed = {"row": bytes(body)} if isinstance(effect, Kept) else {"frame": bytes(body)}
    events[number].effects[place] = msgspec.structs.replace(effect, **changed)

    difference = replay(put_together(recording.with_name("changed"), first, events)).difference

    assert difference is not None
    assert (difference.event, difference.effect) == (number + 1, place + 1)
    assert difference.expected != difference.seen


def test_a_change_at_the_end_of_a_long_effect_is_shown(recording):
    """Of a long effect its beginning is shown, and what follows where the two differ."""
    first, events = taken_apart(recording)
    effects = [
        (len(effect.frame), number, place)
        for number, event in enumerate(events)
        for place, effect in enumerate(event.effects)
        if not isinstance(effect, Kept)
    ]
    _, number, place = max(effects)
    effect = events[number].effects[place]
    changed = effect.frame[:-1] + bytes([effect.frame[-1] ^ 1])
    events[number].effects[place] = msgspec.structs.replace(effect, frame=changed)

    difference = replay(put_together(recording.with_name("changed"), first, events)).difference

    assert difference is not None
    assert difference.expected != difference.seen
    assert difference.expected[:200] == difference.seen[:200]


def test_an_effect_too_few_or_too_many_is_noticed(recording):
    """What was recorded but is not done any more, and the other way round."""
    first, events = taken_apart(recording)
    number = next(number for number, event in enumerate(events) if event.effects)
    effect = events[number].effects.pop()

    more = replay(put_together(recording.with_name("fewer"), first, events)).difference
    events[number].effects += [effect, effect]
    fewer = replay(put_together(recording.with_name("more"), first, events)).difference

    assert more is not None
    assert (more.event, more.expected) == (number + 1, "nothing")
    assert fewer is not None
    assert (fewer.event, fewer.seen) == (number + 1, "nothing")


def test_a_changed_input_is_noticed(recording):
    """A request for another name is answered otherwise than the recorded one was."""
    first, events = taken_apart(recording)
    number = next(number for number, event in enumerate(events) if isinstance(event, Asked) and event.effects)
    request = wire.decode_request(events[number].frame)
    events[number].frame = wire.encode(Request(request.v, "another", request.call, request.body, request.to))

    difference = replay(put_together(recording.with_name("asked"), first, events)).difference

    assert difference is not None
    assert difference.event == number + 1
    assert "WrongCluster" in difference.seen


def test_what_could_not_be_sent_is_recorded_and_replayed(recording):
    """A driver that tells of a broken connection is an event like any other, with what the kernel does then."""
    first, events = taken_apart(recording)
    number, sent = next(
        (number, effect)
        for number, event in enumerate(events)
        for effect in event.effects
        if isinstance(effect, Sent) and isinstance(wire.decode_request(effect.frame).body, NextHop)
    )
    lost = Unsent(now=events[number].now, address=sent.address, frame=sent.frame)
    kept: list[AnyEvent] = []
    kernel = RecordedKernel(Kernel("ringcast", "a:1", random.Random(1)), kept.append)
    kernel.on_unsent(Send(lost.address, wire.decode_request(lost.frame)), lost.now)

    so_far = [*events[: number + 1], lost]
    whole = replay(put_together(recording.with_name("unsent"), first, so_far))
    went_on = replay(put_together(recording.with_name("went-on"), first, so_far + events[number + 1 :]))

    assert kept == [lost]
    assert (whole.events, whole.difference) == (number + 2, None)
    assert went_on.difference is not None  # the call was over when its reply came


def test_another_seed_is_noticed(recording):
    """The seed decides what is left to chance: the first request of another one has another call id."""
    first, events = taken_apart(recording)

    difference = replay(
        put_together(recording.with_name("seed"), msgspec.structs.replace(first, seed=first.seed ^ 1), events)
    ).difference

    assert difference is not None
    assert events[difference.event - 1].effects[difference.effect - 1].__class__ is Sent


@settings(max_examples=25)
@given(data=st.data())
def test_a_file_that_was_cut_short_replays_as_far_as_it_goes(recording, data):
    """Killed at any byte behind the first row, it has every event that is whole, and says what is left over."""
    whole = recording.read_bytes()
    first, events = taken_apart(recording)
    begins = len(wire.encode(first))
    end = data.draw(st.integers(begins, len(whole)))
    cut = recording.with_name("cut")
    cut.write_bytes(whole[:end])

    report = replay(cut)

    ends = [begins]
    for event in events:
        ends.append(ends[-1] + len(wire.encode(event)))
    whole_events = sum(each <= end for each in ends) - 1
    assert report.difference is None
    assert report.events == whole_events
    assert report.cut_bytes == end - ends[whole_events]
    assert not report.has_grown


def test_a_file_that_is_still_recorded_replays_as_far_as_it_was_at_first(recording, monkeypatch, capsys):
    """However much the process writes meanwhile, in bytes too: what is left over is never less than nothing."""
    whole, (_first, events) = recording.read_bytes(), taken_apart(recording)
    growing = recording.with_name("growing")
    cut = 3
    growing.write_bytes(whole[:-cut])
    carry_out = _Replayer.carry_out

    def while_it_grows(replayer: _Replayer, number: int, event: AnyEvent) -> list[Output]:
        with growing.open("ab") as file:
            file.write(whole[-cut:] if number == 1 else wire.encode(events[-1]))
        return carry_out(replayer, number, event)

    monkeypatch.setattr(_Replayer, "carry_out", while_it_grows)
    report = replay(growing)

    assert (report.difference, report.has_grown) == (None, True)
    assert report.events == len(events) - 1
    assert report.cut_bytes == len(wire.encode(events[-1])) - cut
    _show(report)
    assert "as recorded; it is still being recorded" in capsys.readouterr().out


def test_an_error_that_ended_the_process_is_met_again(tmp_path, monkeypatch):
    """What the core raised is part of the recording, and no difference when it raises it again."""

    def walk(_host: Host) -> Operation[None]:
        yield 42  # no effect

    monkeypatch.setattr(Host, "walk", walk)
    monkeypatch.setitem(OPERATIONS, "walk", walk)
    cluster = Cluster(1)
    path = tmp_path / "node.rec"
    recording = start_recorded(cluster, ME, [], path)
    with pytest.raises(TypeError, match="yielded 42") as raised:
        cluster.nodes[ME].process.start(cluster.nodes[ME].host.walk())
    recording.close()

    report = replay(path)

    _first, events = taken_apart(path)
    assert report.difference is None
    assert report.events == len(events)
    assert events[-1].raised == repr(raised.value)
    events[-1].raised = ""
    difference = replay(put_together(tmp_path / "without", _first, events)).difference
    assert difference is not None
    assert (difference.event, difference.expected) == (len(events), "no error")


def other_format(recording: Path) -> bytes:
    first, events = taken_apart(recording)
    return b"".join(map(wire.encode, [msgspec.structs.replace(first, format=99), *events]))


def damaged_inside(recording: Path) -> bytes:
    first, _events = taken_apart(recording)
    return wire.encode(first) + wire.encode(["request", "no frame"]) + recording.read_bytes()


def an_impossible_process(recording: Path) -> bytes:
    first, _events = taken_apart(recording)
    return wire.encode(msgspec.structs.replace(first, vnodes=0))


def an_unknown_operation(recording: Path) -> bytes:
    first, _events = taken_apart(recording)
    return wire.encode(first) + wire.encode(Began(now=0.0, operation="fly", arguments=[]))


def a_frame_that_is_none(recording: Path) -> bytes:
    first, _events = taken_apart(recording)
    return wire.encode(first) + wire.encode(Asked(now=0.0, frame=b"\x00"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _recording: b"", "is no recording of a ring node"),
        (lambda _recording: b"\x00" * 100, "is no recording of a ring node"),
        (other_format, "has format 99; this is made for format 1"),
        (damaged_inside, "event 1 cannot be read"),
        (an_impossible_process, "a process has 1 to 128 virtual nodes, not 0"),
        (an_unknown_operation, "event 1 cannot be fed: it starts 'fly'"),
        (a_frame_that_is_none, "event 1 cannot be fed: unreadable request of 1 bytes"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_no_recording_is_refused(recording, make: Callable[[Path], bytes], said):
    """With what is wrong with it, and where."""
    path = recording.with_name("bad")
    path.write_bytes(make(recording))

    with pytest.raises(Unreadable, match=said):
        replay(path)


@pytest.mark.parametrize("time_s", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["now", "epoch_offset_s"])
def test_a_time_that_is_no_number_of_seconds_is_refused(recording, time_s, field):
    """Nothing could be told of what was recorded then."""
    first, _events = taken_apart(recording)
    event = msgspec.structs.replace(Clock(now=1.0, epoch_offset_s=2.0), **{field: time_s})
    bad = put_together(recording.with_name("bad"), first, [Clock(now=0.0, epoch_offset_s=0.0), event])

    with pytest.raises(Unreadable, match="event 2 cannot be read: its time is no number of seconds"):
        replay(bad)


def test_the_command_says_how_it_went(recording):
    """Exit code 0 with the counts, 1 with the first difference, 2 for no recording; `--json` has the same."""
    first, events = taken_apart(recording)
    number = next(number for number, event in enumerate(events) if event.effects)
    events[number].effects.clear()
    changed = put_together(recording.with_name("short"), first, events)

    matches = sim("replay", str(recording), "--json")
    differs = sim("replay", str(changed))
    missing = sim("replay", str(recording.with_name("missing")))

    assert matches.returncode == 0, matches.stderr
    report = json.loads(matches.stdout)
    assert (report["events"], report["difference"], report["address"]) == (len(events), None, ME)
    assert differs.returncode == 1
    assert differs.stderr.startswith(f"error: event {number + 1} (")
    assert "recorded nothing; seen send to " in differs.stderr
    assert differs.stderr.count("\n") == 1
    assert missing.returncode == 2
    assert "No such file or directory" in missing.stderr
