"""What an application imports: `from pubsub.client import Publisher, Subscriber`."""

from pubsub.errors import Closed, NotDelivered, NotRegistered, WindowFull
from pubsub.mismatch import Mismatch
from pubsub.profile import Profile
from pubsub.publisher import Publisher
from pubsub.sample import Sample
from pubsub.subscriber import Subscriber

__all__ = [
    "Closed",
    "Mismatch",
    "NotDelivered",
    "NotRegistered",
    "Profile",
    "Publisher",
    "Sample",
    "Subscriber",
    "WindowFull",
]
