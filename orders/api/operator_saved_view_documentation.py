"""What the OpenAPI document says about the saved views of the list of orders."""

from typing import Any

from orders.api import operator_saved_view_representations as representations
from orders.api import operator_saved_view_requests as requests
from orders.api.operator_documentation import DENIED, TAG, act
from orders.api.operator_requests import ActIn
from orders.api.problems import OPERATION_PROBLEMS
from orders.selectors.desk.saved_views import MOST_OWN, MOST_SHARED

LIST: dict[str, Any] = {
    "operation_id": "list_views",
    "summary": "List the saved views of the list of orders",
    "description": (
        "Those of the account first, then those that others share. Send the `query` of one as `q` to search for its "
        "orders, or to act on them in bulk."
    ),
    "tags": TAG,
    "responses": representations.SavedViewsOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED]},
}
SAVE: dict[str, Any] = {
    "operation_id": "create_view",
    "summary": "Save a query of the list of orders as a view",
    "description": (
        f"An account has at most {MOST_OWN} views, and at most {MOST_SHARED} are shared. Two of one account have no "
        "name in common, nor have two that are shared. Repeating a request has no further effect. The audit log "
        "records each one."
    ),
    "tags": TAG,
    "request": requests.SavedViewIn,
    "responses": {201: representations.SavedViewOut},
    "extensions": {OPERATION_PROBLEMS: [DENIED, "act_refused"]},
}
CHANGE = act(
    "change_view",
    "Change a saved view",
    requests.SavedViewChangeIn,
    description=(
        "Changes what you send of it. Its owner may do that and, if it is shared, an administrator. The audit log "
        "records each request."
    ),
)
DELETE = act(
    "delete_view",
    "Delete a saved view",
    ActIn,
    description="Its owner may do that and, if it is shared, an administrator. The audit log records each request.",
)
