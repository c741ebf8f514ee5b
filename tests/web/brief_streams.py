"""The web application with short streams, for tests. It is separate, so the product needs no setting for it."""

from orders.live.hub import HubConfig
from sasweb import asgi

# Set up by the import above.
from orders.live.following import StreamsConfig  # isort: skip
from orders.live.streams import Streams  # isort: skip

asgi.streams = Streams(StreamsConfig(lifetime=2.0, heartbeat=0.5, hub=HubConfig(poll=0.3)))
application = asgi.application
