"""What the query bar completes while somebody types."""

from django.http import HttpRequest, JsonResponse

from orders.console.guards import page
from orders.wording.queries import EXPLANATIONS, completions


@page
def show_words(request: HttpRequest) -> JsonResponse:
    """The values of a field (`field`) that begin with what has been typed (`word`), as a list in JSON, and what those
    of them mean that do not say it themselves."""
    field = request.GET.get("field", "")
    words = completions(field, request.GET.get("word", ""))
    meanings = EXPLANATIONS.get(field, {})
    return JsonResponse(
        {"words": words, "about": {word: meanings[word] for word in words if word in meanings}}
    )
