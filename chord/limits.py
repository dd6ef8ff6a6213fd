"""The limit on every size that another process can choose."""

from __future__ import annotations

PROTOCOL_VERSION = 1

MAX_FRAME_BYTES = 1 << 20
"""A ZeroMQ frame; libzmq drops the connection of a peer that sends a longer one."""

MAX_BACKLOG = 256
"""Messages kept for a peer while its connection is being made."""

MAX_BACKLOG_BYTES = 4 << 20
"""Bytes of these messages: eight full pages of copies."""

MAX_BACKLOGS_BYTES = 64 << 20
"""Bytes of what is kept for all peers; half of it is for those for whom nothing is kept yet."""

MAX_UNREAD_BYTES = 16 << 20
"""Bytes of large replies that one peer has asked for and not read: 32 full pages."""

MAX_UNREADS_BYTES = 128 << 20
"""The same for all peers; half of it is for those who have at most a frame's size of it."""

MAX_FRAMES = 16
"""Frames of one message: routing ids, delimiter, body."""

MAX_NAME_BYTES = 255
"""Bytes of a name in UTF-8."""

MAX_CLUSTER = 64
"""Characters of a cluster's name."""

MAX_ERROR_KIND = 64
"""Characters of the name of an error's class."""

MAX_ERROR_TEXT = 500
"""Characters of an error's text; what is longer is cut off by its sender."""

MAX_ADDRESS = 255
"""Characters of host:port."""

MAX_LIST = 512
"""Pointers in one list."""

MAX_VNODES = 128
"""Virtual nodes of one process. On three processes a list holds all other members, which must not pass MAX_LIST."""

MAX_ENTRY_ID = 300
"""Characters of an entry's id; holds a prefix and a name of 255 bytes."""

MAX_SERVED = 4
"""Clients whose last put of an entry is remembered with it."""

MAX_VALUE_BYTES = 16 * 1024
"""Bytes of one entry's value."""

MAX_ENTRIES_PER_PAGE = 1_000
"""Entries of one page; a page also ends at MAX_PAGE_BYTES."""

MAX_PAGE_BYTES = 512 * 1024
"""Bytes of the entries of one page, so that it fits a frame."""

MAX_LEASE_S = 30 * 86_400.0
"""Seconds of one lease."""

MAX_VERSION = 2**53
"""Of one entry; every language can read it."""

MAX_VERSION_STEP = 2**32
"""How far a put may go beyond the version held, so that no single one uses up the versions of an entry."""

MAX_ENTRIES_PER_RECORD = 20_000
"""Entries of one record, dead ones included."""

MAX_RECORDS = 1_000_000
"""Records that one process holds."""

MAX_STORE_BYTES = 1 << 30
"""Bytes of all entries that one process holds, with 512 for what an entry takes beside its value."""

MAX_AVOIDED = 64
"""Members that one step of a lookup may ask to be left out: half of a list of 20 and of the fingers may be dead."""

MAX_FORWARDS = 64
"""Members that may pass one recursive lookup on; 2**64 of them would need half as many on average."""

MAX_HOPS = 160
"""Exchanges of one lookup; a walk along successor lists of 8 passes 1,280 members in that many."""

MAX_NAMED = 20
"""Members that one answer to a step of a lookup names at most; whoever names more is believed so many."""

MAX_LOOKUP_S = 30.0
"""Seconds after which a lookup asks nobody any more: twice half a second for each that one answer names fits in."""
