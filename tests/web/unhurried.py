"""The web application with times that no test outlives: waits, streams and polls take ten minutes or more.

So what a reader gets came because of a wake-up, or of a stop, however slow the machine is. It is `counted_waits` too.
"""

from sasweb import asgi

# Set up by the import above.
from orders.api import preferences  # isort: skip
from orders.live.following import StreamsConfig  # isort: skip
from orders.live.hub import HubConfig  # isort: skip
from orders.live.streams import Streams  # isort: skip
from tests.web.counted_waits import application  # isort: skip

LONG = 600

preferences.LONGEST_WAIT = LONG
asgi.streams = Streams(StreamsConfig(lifetime=2 * LONG, heartbeat=LONG, hub=HubConfig(poll=LONG)))
__all__ = ("application",)
