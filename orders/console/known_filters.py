"""What a list does with a filter that it does not know: it says so, and matches nothing.

Otherwise a mistyped name, as in `?sate=error`, would list everything as if it were what somebody had asked for.
"""

from collections.abc import Callable, Collection, Mapping
from functools import wraps

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

View = Callable[..., HttpResponseBase]
PLACES = ("after", "before", "archived", "into")
"""Where a page begins, and how a form was sent: no filters. A value that cannot be read begins at the start of the
list."""


def only_filters(*form_classes: type[forms.Form], own_errors: bool = False) -> Callable[[View], View]:
    """Guards a list or an export whose query string these forms read.

    With `own_errors` the page itself says which values are wrong.
    """
    names = sorted({name for form_class in form_classes for name in form_class.base_fields})

    def guarded(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            problems = unknown_filters(request.GET, names)
            if not own_errors and not problems:
                problems = [
                    error for form_class in form_classes for error in _errors(form_class(request.GET))
                ]
            return _refuse(request, problems) if problems else view(request, *args, **kwargs)

        return checked

    return guarded


def unknown_filters(query: Mapping[str, object], names: Collection[str]) -> list[str]:
    """A sentence for each name in a query string that is no filter of the list."""
    filters = ", ".join(sorted({*names} - {*PLACES}))
    offer = f"Its filters are {filters}." if filters else "It has no filters."
    return [f"This list has no filter “{name[:60]}”. {offer}" for name in query if name not in names]


def _errors(form: forms.Form) -> list[str]:
    return [
        f"{name}: {error}"
        for name, errors in form.errors.items()
        if name not in PLACES
        for error in map(str, errors)
    ]


def _refuse(request: HttpRequest, problems: list[str]) -> HttpResponse:
    if request.path.endswith(".csv"):
        text = "".join(f"{problem}\n" for problem in problems)
        return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
    return render(request, "console/unknown_filter.html", {"problems": problems})
