"""The limit on every size of publish and subscribe, and why it is what it is."""

from __future__ import annotations

MAX_PAYLOAD_BYTES = 512 * 1024
"""One sample. With the largest header a batch of one then fits a frame (chord/limits.py) twice over."""

BATCH_BYTES = 256 * 1024
"""A batch is cut when it holds this much, so none is longer than this and one payload."""

MAX_BATCH_SAMPLES = 16_384
"""Samples of one batch: the columns of empty samples stay below half a frame."""

MAX_NUMBER = 2**53
"""The greatest sequence, time and offset of a batch: what JSON keeps exact, and messages (chord/messages.py) carry."""

SAMPLE_OVERHEAD_BYTES = 64
"""What a sample costs in memory beside its payload; without it, empty samples would never fill a window."""

PENDING_BYTES = 1024 * 1024
"""Samples of one topic that wait to be put into a batch; `publish` blocks beyond."""

BUFFER_BYTES = 8 * 1024 * 1024
"""Samples of one topic that the slowest at-least-once reader has not received; `publish` blocks beyond."""

BEST_EFFORT_BYTES = 2 * 1024 * 1024
"""Batches of one topic kept for best-effort readers; what is older is dropped, and they count it as lost."""

WINDOW_BYTES = 4 * 1024 * 1024
"""Batches sent to one reader that its application has not taken. Far below the high-water marks of the sockets."""

UNTAKEN_BYTES = 2 * WINDOW_BYTES
"""Batches of one publisher and topic that wait at a subscriber for its application, whatever the publisher sends: twice
its window, for one that lost count when the connection broke."""

WINDOW_BATCHES = 16
"""Batches sent to one reader that it has not received: a pipe this busy lets the next batch fill."""

MAX_READERS = 10_000
"""Readers of one publisher, over all topics."""

MAX_HISTORY = 1_000_000
"""Samples of one topic that a publisher may offer to late joiners."""

TOLD_AT_ONCE = 256
"""Heartbeats, or acknowledgements, of one message: a primary has many streams, and each subscriber reads many."""

MAX_ZONE_NAME = 48
"""Characters of a zone's name: `zone/<name>` is the name of a reader (pubsub/messages.py); it is in paths of znodes."""

MAX_ERROR_TEXT = 500
"""Characters of an error that travels."""
