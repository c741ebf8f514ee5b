"""What operators read about a code that only the laboratory's services answer with."""

from orders.business import Runbook

RUNBOOKS = {
    "taken_back": Runbook(
        means="The booking or the analysis was taken back before it happened, so it never will.",
        does="Nothing more is sent. The analysis is in Error and waits for a person.",
        todo="Resubmit it if the sample is still here: the instrument is then booked anew.",
    ),
}
