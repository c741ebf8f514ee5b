"""Stand-ins for the remote services of the shop: a warehouse, a payment gateway, a carrier and a mail server.

One process (`python -m sandbox`), for development and tests, never for production. It behaves as good remote
services do (idempotency keys, undo by forward key, a definite no told apart from a passing trouble), keeps a ledger of
every effect so that a test can count them from outside, and makes the faults that a test asks for.

    POST   /warehouse/reserve|release
    POST   /payments/authorise|void|capture|refund
    POST   /carrier/create|cancel
    GET    /_ledger/{warehouse|payments|carrier|mail}
    PUT    /_faults/{warehouse|payments|carrier|mail}
    GET    /_faults
    DELETE /_faults
    GET    /_health

What happens to a call, in this order: down, validation (400, 404, 413), already running (409), latency, down once
more, hang, error, replay or refusal or effect, lost reply. Everything up to `error` does nothing and stores nothing.
"""
