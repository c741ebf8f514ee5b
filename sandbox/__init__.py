"""Stand-ins for the remote services of the shop: a warehouse, a payment gateway, a carrier and a mail server.

One process (`python -m sandbox`), for development and tests, never for production. It behaves like good remote
services: idempotency keys, reversal by forward key, definite refusals that differ from temporary failures, and an
answer to whoever asks what has become of a call. It keeps a ledger of every effect, so that a test can count them from
outside, and simulates the faults that a test sets. A service can also be told to recognise no keys: then it does again
what it is asked again, as many services do.

    POST   /warehouse/reserve|release
    POST   /payments/authorise|void|capture|refund
    POST   /carrier/create|cancel
    GET    /{warehouse|payments|carrier}/calls?key=KEY
    GET    /{warehouse|payments|carrier}/effects?since=TIME&after=CURSOR
    GET    /_ledger/{warehouse|payments|carrier|mail}
    PUT    /_faults/{warehouse|payments|carrier|mail}
    GET    /_faults
    DELETE /_faults
    GET    /_mail/
    GET    /_health

A call passes these stages, in this order: down, validation (400, 404, 413), already running (409), latency, down
again, hang, error, replay or refusal or effect, lost reply. A call that ends at `error` or earlier does nothing and
stores nothing. An inquiry (`GET …/calls`) and a listing (`GET …/effects`) can be slow, hang, fail or be cut off, too,
but their reply is not lost.
"""
