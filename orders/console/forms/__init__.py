"""The console's forms, one for each form and each filter in a query string.

A form parses: it checks types and lengths, and its cleaned data becomes what a selector or a service takes. Whether an
act is allowed is the service's decision, which it records; a refusal is shown beside the field it concerns.
"""
