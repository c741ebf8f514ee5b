"""What a form for an address asks for in a country, for the pages that follow the choice of one at once."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from orders.fields.address_inputs import OF_A_COUNTRY, place_order, state_choices
from orders.fields.address_rules import rules_of
from orders.fields.address_words import part_label

FOR_AN_HOUR = "private, max-age=3600"


@login_not_required
@require_safe
def show_rules(request: HttpRequest) -> JsonResponse:
    """The parts that differ from country to country: their order, those that the country has and needs, their labels,
    and the choices of its states, in the reader's language. `?country=` is the code of one."""
    rules = rules_of(request.GET.get("country", ""))
    response = JsonResponse(
        {
            "order": place_order(rules),
            "has": [part for part in OF_A_COUNTRY if rules.has(part)],
            "needs": [part for part in OF_A_COUNTRY if rules.needs(part)],
            "labels": {part: part_label(part, rules) for part in OF_A_COUNTRY},
            "states": state_choices(rules) if rules.states else [],
        }
    )
    response.headers["Cache-Control"] = FOR_AN_HOUR
    patch_vary_headers(response, ("Accept-Language", "Cookie"))
    return response
