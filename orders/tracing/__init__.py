"""A trace for each order, if an OTLP endpoint is set (ADR 69).

The ids of an order's trace, of its first span, and of those that a message hands over to another process follow from
the order's id and the step's attempt (`ids`). So each process knows them without being told, and nothing is stored.
`spans` is the door: `record` takes a span that has ended, and does nothing unless `start` found an endpoint in the
environment. Only `exporting` imports OpenTelemetry, which need not be installed.
"""
