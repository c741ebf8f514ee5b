"""How a client begins: the text at the top of the API's documentation."""

import json
from typing import Any

from django.conf import settings
from django.urls import reverse

from orders.access import api_versions
from orders.access.api_tokens import DAYS
from orders.access.api_versions import Version
from orders.api.documentation import NEW_ORDER, is_open_to_clients
from orders.api.rate_limits import POLICIES

TOKEN = """
### Get a token

Whoever runs this installation creates it for an account, and sees it once:

```sh
manage.py token NAME --scope orders
```

Any token may read what its account may see. `--scope orders` also lets it place, pay for and cancel the account's
orders. It lasts {days} days unless `--days` says otherwise, and ends when the account's password changes. Operators
create theirs in the console, at [API tokens]({tokens}).

### Send it

Send `Authorization: Token sas_…` with every request. To try the operations on this page, choose *Authorize* and enter
`Token sas_…`.
"""

FIRST_ORDER = """
### Place a first order

```sh
curl -i {url} \\
  -H "Authorization: Token $TOKEN" \\
  -H "Idempotency-Key: my-first-order" \\
  -H "Content-Type: application/json" \\
  -d @- <<'END'
{order}
END
```

The answer is 202 with the order's address in `Location`: from then on the order is safe, and you can follow it there.
If no answer reaches you, send the same request again: the same key always means the same order.
"""

ERRORS = """
### Errors

Every unsuccessful response is `application/problem+json` (RFC 9457). Its `code` never changes, `retryable` says
whether the same request may succeed later, and `type` leads to a page that explains it: one of [these]({problems}).
"""

VERSIONS = """
### Versions

A token is pinned to the version that was the newest when it was created, so what it gets never changes except by
additions: new members, operations and values, which clients ignore. `API-Version` in a request names another version
for that request, and in each answer says which one answered. A version that is to end says so in each of its answers:
`Deprecation` is since when nobody should use it, and from `Sunset` on it is refused with `unsupported_version`.
`manage.py token NAME --pin TOKEN VERSION` and the console pin a token to another one. The versions are:

{versions}
"""

LIMITS = """
### Limits

`RateLimit-Policy` names the limits that a request counted for, and `RateLimit` says how many requests are left. Beyond
that the answer is 429, with `Retry-After`. The limits are:

{limits}
"""


def add_guide(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Adds the guide to the description of the OpenAPI document."""
    result["info"]["description"] = "\n".join([result["info"]["description"], *guide()])
    return result


def guide() -> list[str]:
    """The parts of the guide. An order is in it where clients may place that kind of order."""
    parts = [TOKEN.format(days=DAYS, tokens=reverse("console:tokens"))]
    if is_open_to_clients():
        url = settings.CONFIG.public_url + reverse("api:orders")
        parts.append(FIRST_ORDER.format(url=url, order=json.dumps(NEW_ORDER, indent=2)))
    limits = "\n".join(f"- `{name}`: {meaning}" for name, meaning in POLICIES.items())
    versions = "\n".join(map(_describe_version, api_versions.VERSIONS))
    return [
        *parts,
        ERRORS.format(problems=reverse("api:problems")),
        VERSIONS.format(versions=versions),
        LIMITS.format(limits=limits),
    ]


def _describe_version(version: Version) -> str:
    ends = [
        f"{words} {moment:%Y-%m-%d}"
        for words, moment in (("deprecated since", version.deprecated_at), ("ends on", version.ends_at))
        if moment
    ]
    going = f" ({', '.join(ends)})" if ends else ""
    return f"- `{version.name}`{going}: {version.changes}"
