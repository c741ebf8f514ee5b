"""The carrier's page says what its ledger knows of a parcel."""

from tests.sandbox.examples import create, reversal_of
from tests.sandbox.process import Sandbox, new_key
from tests.sandbox.test_mailbox import page


def test_a_parcel_has_a_page_that_says_when_it_was_handed_over_and_cancelled(sandbox: Sandbox) -> None:
    key = new_key()
    tracking = sandbox.call("/carrier/create", create(), key).content["tracking"]
    status, headers, shown = page(sandbox, f"/_parcels/{tracking}")
    (created,) = sandbox.ledger("carrier", key)
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert f"<dt>Tracking number</dt><dd>{tracking}</dd>" in shown
    assert "The carrier has this parcel." in shown
    assert f'<time datetime="{created["at"]}">' in shown

    reversal = new_key()
    sandbox.call("/carrier/cancel", reversal_of(key), reversal)
    (cancelled,) = sandbox.ledger("carrier", reversal)
    shown = page(sandbox, f"/_parcels/{tracking}")[2]
    assert "This parcel was cancelled." in shown
    assert f'<dt>Cancelled</dt><dd><time datetime="{cancelled["at"]}">' in shown


def test_there_is_no_page_of_a_parcel_that_the_carrier_does_not_have(sandbox: Sandbox) -> None:
    status, _, shown = page(sandbox, "/_parcels/trk_%3Cb%3E")
    assert status == 404
    assert "No such parcel" in shown
    assert "<b>" not in shown
