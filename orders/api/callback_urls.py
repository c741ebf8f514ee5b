"""The URL that remote services answer at. It is outside /api/, since it is not for clients and has no version."""

from django.urls import path, re_path

from orders.api.callbacks import Callback
from orders.api.views import UnknownRoute

app_name = "callbacks"

urlpatterns = [
    path("<str:token>", Callback.as_view(), name="answer"),
    re_path("^", UnknownRoute.as_view(), name="unknown"),
]
