"""The web process with streams that are short and few, for tests: another application, so no setting of the product."""

from orders.live.hub import HubConfig
from sasweb import asgi

# Set up by the import above.
from orders.live.streams import Streams, StreamsConfig  # isort: skip

asgi.streams = Streams(
    StreamsConfig(lifetime=2.0, heartbeat=0.5, most=8, most_each=3, hub=HubConfig(poll=0.3))
)
application = asgi.application
