"""The web application with few streams, for tests. It is separate, so the product needs no setting for it."""

from sasweb import asgi

# Set up by the import above.
from orders.live.places import Caps  # isort: skip
from orders.live.following import StreamsConfig  # isort: skip
from orders.live.streams import Streams  # isort: skip

asgi.streams = Streams(StreamsConfig(caps=Caps(total=9, operators=2, reader=2, order=3, address=4)))
application = asgi.application
