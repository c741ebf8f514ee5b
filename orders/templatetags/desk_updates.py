"""Template tags of the operator console about live updates.

{% can_be_fetched_again as is_live %}   whether the page's url answers a GET, as live updates need
"""

from django import template
from django.template import Context

register = template.Library()


@register.simple_tag(takes_context=True)
def can_be_fetched_again(context: Context) -> bool:
    """Whether the url of a page answers a GET: not if the page is the answer of an act whose url takes forms alone."""
    match = getattr(context.get("request"), "resolver_match", None)
    return not getattr(match and match.func, "takes_only_posts", False)
