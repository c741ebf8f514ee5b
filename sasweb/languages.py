"""The languages that customers can read, and which of them a request is answered in."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

from sasweb.problems import concerns_api

Handler = Callable[[HttpRequest], HttpResponseBase]

SOURCE = "en"
"""The language that the sentences are written in."""
LANGUAGES: Mapping[str, str] = {SOURCE: "English", "hu": "Magyar", "ko": "한국어", "zh-hans": "简体中文"}
"""The name of each in itself, by its tag. All but `SOURCE` have a catalogue in `locale/` (`sasweb.catalogues`)."""
IN_ENGLISH = ("/console/", "/admin/")
"""What is under these paths, and the API, is English for everybody."""


def answer_in_language(get_response: Handler) -> Handler:
    """Answers in the language that the reader has chosen in the footer, or else in the first that her browser asks for
    and this software speaks."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(IN_ENGLISH) or concerns_api(request.path_info):
            with translation.override(SOURCE):
                return get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Language", language)
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response

    return middleware
