"""The URL that remote services answer at. It is outside /api/, since it is not for clients and has no version."""

from django.urls import path

from orders.api.callbacks import Callback

app_name = "callbacks"

urlpatterns = [path("<str:token>", Callback.as_view(), name="answer")]
