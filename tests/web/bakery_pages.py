"""Pages and API views of a business that declares no limits, beside the project's own."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sasweb.urls import urlpatterns as project_urls


@login_not_required
def bake(_request: HttpRequest) -> HttpResponse:
    """Does something for anybody who asks."""
    return HttpResponse("baked")


class Quotes(APIView):
    """Calculates something for anybody who asks."""

    permission_classes = (AllowAny,)

    def get(self, _request: Request) -> Response:
        return Response({})

    def post(self, _request: Request) -> Response:
        return Response({})


pages = ([path("bake/", bake, name="bake"), path("boil/", bake, name="boil")], "bakery")
views = ([path("quotes", Quotes.as_view(), name="quotes")], "api")
urlpatterns = [path("bakery/", include(pages)), path("bakery-api/", include(views)), *project_urls]
