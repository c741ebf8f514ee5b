"""The web application with room for few waits and few streams, for tests. It polls three times a second."""

from sasweb import asgi

# Set up by the import above.
from orders.live.following import StreamsConfig  # isort: skip
from orders.live.hub import HubConfig  # isort: skip
from orders.live.places import Caps, RoomCaps  # isort: skip
from orders.live.streams import Streams  # isort: skip
from tests.web.counted_waits import application  # isort: skip

asgi.streams = Streams(
    StreamsConfig(
        lifetime=600.0,
        caps=Caps(total=4, operators=1),
        waits=RoomCaps(total=3, share=2),
        hub=HubConfig(poll=0.3),
    )
)
__all__ = ("application",)
