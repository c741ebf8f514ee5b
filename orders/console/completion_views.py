"""What the query bar completes while somebody types."""

from django.http import HttpRequest, JsonResponse

from orders.console.guards import page
from orders.wording.queries import completions


@page
def show_words(request: HttpRequest) -> JsonResponse:
    """The values of a field (`field`) that begin with what has been typed (`word`), as a list in JSON."""
    words = completions(request.GET.get("field", ""), request.GET.get("word", ""))
    return JsonResponse({"words": words})
