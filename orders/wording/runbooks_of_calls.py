"""What operators read about the codes of calls to remote services and mail servers."""

from collections.abc import Mapping

from orders.business.runbooks import Advice, Runbook

RETRIED = (
    "It is tried again with the same key and growing pauses. If several orders fail, it is taken to be down: "
)
WAITS = RETRIED + "new steps wait without counting as failures, and continue when a try succeeds."
STUCK = "Nothing is sent again, since that could do it twice. The order is in Error and waits for a person."
BACK = "Orders that are in Error by then can be resubmitted together; nothing is done twice."

CALLS: Mapping[str, Runbook] = {
    "timeout": Runbook(
        means="The service took the call and did not answer in time. It may have done it.",
        does=WAITS,
        todo="Ask the service’s operators what makes it slow. " + BACK,
    ),
    "connection_lost": Runbook(
        means="The connection broke before the answer was complete. The service may have done it.",
        does=WAITS,
        todo="Look at the network and at the service’s restarts. " + BACK,
    ),
    "unreachable": Runbook(
        means="No connection to the service could be made, so nothing was sent.",
        does=WAITS,
        todo="Check that the service runs, and that its host and port can be reached from here. " + BACK,
    ),
    "dns": Runbook(
        means="The service’s host name was not found, so nothing was sent.",
        does=WAITS,
        todo="Check the url in the settings and the name server. " + BACK,
    ),
    "tls": Runbook(
        means="No encrypted connection to the service could be made, so nothing was sent.",
        does=WAITS,
        todo="Compare the TLS versions of both sides, and anything that sits between them. " + BACK,
    ),
    "certificate": Runbook(
        means="The service’s certificate does not verify: it has expired, or is for another name. Nothing was sent.",
        does=WAITS,
        todo="Have the service’s operators renew the certificate, or add its authority to those trusted here. "
        + BACK,
    ),
    "bad_answer": Runbook(
        means="The service answered with something that cannot be read. It may have done what was asked.",
        does=WAITS,
        todo="Look at the answer in the step’s history and tell the service’s operators. " + BACK,
    ),
    "answer_too_large": Runbook(
        means="The service’s answer is larger than we can keep. It may have done what was asked.",
        does=STUCK,
        todo="Look the order up at the service, and settle the step with its result.",
        advises=Advice.SETTLE,
    ),
    "incomplete_result": Runbook(
        means="The service did what was asked, but its answer lacks something that later steps need.",
        does=STUCK,
        todo="Find what is missing at the service, and settle the step as done with it. Have the service corrected.",
        advises=Advice.SETTLE,
    ),
    "misconfigured": Runbook(
        means="The service turned us away before it looked at the order: our url or credentials are wrong.",
        does="Each order that meets it is in Error. An earlier try may have taken effect.",
        todo="Correct the url or the credentials in the settings and restart the agents, then resubmit the orders.",
    ),
    "redirected": Runbook(
        means="The service answered with a redirect, and those are never followed.",
        does=STUCK,
        todo="Set the service’s final url in the settings and restart the agents, then resubmit the orders.",
    ),
    "idempotency_key_reused": Runbook(
        means="The service has seen this key with other data, so the first call may have taken effect.",
        does=STUCK,
        todo="Look up at the service what was done under the key, and settle the step accordingly.",
        advises=Advice.SETTLE,
    ),
    "unknown_operation": Runbook(
        means="The workflow asks an agent for an operation that it does not have: the two are of different releases.",
        does="Nothing was sent. The order is in Error and waits for a person.",
        todo="Run agents of the release that the workflow belongs to, then resubmit.",
    ),
    "agent_failed": Runbook(
        means="The agent’s own program failed during the call. Nobody knows whether the service did it.",
        does=STUCK,
        todo="Report the error to whoever maintains the agent. Look the order up at the service, then settle it.",
        advises=Advice.SETTLE,
    ),
    "not_called": Runbook(
        means="Nothing was sent, because the agent is down or paused.",
        does="The step waits without counting as failed, and continues by itself when calls are made again.",
        todo="See on the page Agents why nothing is sent, and end the pause if it is over.",
    ),
    "cannot_ask": Runbook(
        means="An earlier call may have taken effect, and this service cannot be asked about it.",
        does=STUCK,
        todo="Look the order up at the service, and settle the step as done or not done.",
        advises=Advice.SETTLE,
    ),
    "outcome_unknown": Runbook(
        means="The service was asked about an earlier call, and does not know yet whether it was done.",
        does="It is asked again with growing pauses. Nothing is sent until it knows.",
        todo="Wait, or ask the service’s operators. If it never learns, look the order up there and settle the step.",
    ),
    "still_possible": Runbook(
        means="The service has not done it, but an earlier call to it may still be on its way.",
        does="It waits until that call can no longer arrive, then sends it again.",
        todo="Nothing, unless it lasts for many minutes. Then look the order up at the service.",
    ),
    "smtp_not_supported": Runbook(
        means="The mail server does not offer what this email needs, such as encryption or signing in.",
        does="Nothing was sent. The order is in Error and waits for a person.",
        todo="Correct EMAIL_URL or the mail server, then resubmit.",
    ),
}
"""The texts by code."""
