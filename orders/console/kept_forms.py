"""A form that was refused, kept for the page that has it: what was typed, and what is wrong with it at its field.

The act answers with a redirect to its page, as ever, so that reloading the page, and its live updates, ask for the page
and not for the act. The session keeps what was typed until the page has shown it.
"""

from collections.abc import Callable
from typing import TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, QueryDict

from orders.console.flash import show_result
from orders.console.forms.fields import first_error
from orders.services.act_results import Result, ResultStatus

KEY = "kept_form"
LONGEST = 20_000
"""The most characters that a session keeps of a form. With more, only the error is shown."""

Form = TypeVar("Form", bound=forms.Form)


def answer(
    request: HttpRequest,
    name: str,
    form: forms.Form,
    act: Callable[[], Result],
    *,
    refused_at: str = "",
    beside: str = "",
) -> None:
    """Acts if a form is valid and shows the result. If it is not, or the act is refused, keeps the form under a name.

    `refused_at` is the field at which a refusal is shown; without one it is shown as a message. `beside` is the place
    where the page shows the result.
    """
    if not form.is_valid():
        _keep(request, name, form, error=first_error(form))
        return
    result = act()
    if result.status is ResultStatus.REFUSED and refused_at:
        _keep(request, name, form, error=result.message, field=refused_at)
    else:
        show_result(request, result, beside=beside)


def _keep(request: HttpRequest, name: str, form: forms.Form, *, error: str, field: str = "") -> None:
    data = request.POST.copy()
    data.pop("csrfmiddlewaretoken", None)
    text = data.urlencode()
    if len(text) > LONGEST:
        messages.error(request, error)
        return
    request.session[KEY] = {"name": name, "data": text, "field": field, "error": error}


def kept(request: HttpRequest, name: str, bind: Callable[[QueryDict], Form], otherwise: Form) -> Form:
    """The form that was kept under a name, with its errors; `otherwise` if none was. It is shown once."""
    stored = request.session.get(KEY)
    if not stored or stored["name"] != name:
        return otherwise
    del request.session[KEY]
    form = bind(QueryDict(stored["data"], mutable=True))
    if form.is_valid() and stored["field"]:
        form.add_error(stored["field"], stored["error"])
    return form


def show_rest(request: HttpRequest) -> None:
    """Shows the error of a form that was kept for a page that does not have it any more, as a message."""
    if stored := request.session.pop(KEY, None):
        messages.error(request, stored["error"])
