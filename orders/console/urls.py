"""The addresses of the operator console."""

from orders.console import access_urls, alert_urls, order_urls, system_urls

app_name = "console"

urlpatterns = [
    *system_urls.urlpatterns,
    *order_urls.urlpatterns,
    *alert_urls.urlpatterns,
    *access_urls.urlpatterns,
]
