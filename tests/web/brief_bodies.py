"""The web application with a short time for bodies, for tests. It is separate, so the product needs no setting."""

from sasweb import asgi

asgi.BODY_TIMEOUT = 1.0
application = asgi.application
