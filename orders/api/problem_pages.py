"""The pages at the problems' `type`, and their list: HTML in the site's frame, or text for whoever asks for it."""

import re

from django.http import HttpResponse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from orders.api.pages import Html, Page, PlainText
from orders.api.problems import PROBLEMS
from sasweb.problems import Problem, type_url


class ProblemPage(Page):
    """What one problem means, what to do, and whether to repeat the request."""

    renderer_classes = (Html, PlainText)

    @extend_schema(exclude=True)
    def get(self, request: Request, code: str) -> HttpResponse:
        """Returns the page."""
        problem = PROBLEMS.get(code)
        if problem is None:
            raise NotFound
        context = {"problem": problem, "meaning": marked(problem.meaning), "repetition": repetition(problem)}
        return self.respond(request, "problem", context)


class ProblemList(Page):
    """All problems, by status."""

    renderer_classes = (Html, PlainText)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Returns the list."""
        ordered = sorted(PROBLEMS.values(), key=lambda problem: problem.status)
        rows = [{"problem": problem, "url": type_url(problem.code)} for problem in ordered]
        return self.respond(request, "problems", {"rows": rows})


def marked(text: str) -> SafeString:
    """A text as HTML, with code where it has backticks."""
    return mark_safe(re.sub("`(.+?)`", r"<code>\1</code>", escape(text)))


def repetition(problem: Problem) -> str:
    """Whether to send the same request again."""
    if problem.retryable:
        return "Yes. Wait for the number of seconds in Retry-After if the answer has that header, and longer each time."
    if problem.status >= 500:
        return "It may succeed, or fail again. Repeat it only if repeating it is safe."
    return "No. The same request will fail again until something has changed."
