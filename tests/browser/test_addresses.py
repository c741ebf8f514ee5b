"""The fields of an address follow the country as it is chosen, and without a script once the form was sent."""

from playwright.sync_api import Page, expect

from tests.browser.buying import fill_cart
from tests.browser.conftest import Opener

PHONE = {"width": 390, "height": 844}


def fields(page: Page) -> list[str]:
    """The labels of the inputs below the address's second line, as they stand on the page."""
    inputs = page.locator(".form__place .field:visible")
    tops = sorted(
        (box["y"], box["x"], field.locator("label").inner_text())
        for field in inputs.all()
        if (box := field.bounding_box()) is not None
    )
    return [label for _y, _x, label in tops]


def test_on_a_phone_the_fields_follow_the_country_and_keep_what_was_entered(open_page: Opener) -> None:
    page = open_page(viewport=PHONE, has_touch=True)
    fill_cart(page)
    page.goto("/checkout/")
    assert fields(page) == ["Postal code", "City"]
    country, place = page.get_by_label("Country"), page.locator(".form__place")

    country.select_option("DE")
    place.get_by_label("City").fill("Springfield")
    place.get_by_label("Postal code").fill("97477")
    expect(place.get_by_label("Province")).to_be_hidden()
    assert fields(page) == ["Postal code", "City"]

    country.select_option("US")
    state = place.get_by_label("State", exact=True)
    state.select_option("Oregon")
    assert fields(page) == ["City", "State", "ZIP code"]
    assert state.get_attribute("autocomplete") == "shipping address-level1"
    expect(place.get_by_label("City")).to_have_value("Springfield")
    expect(place.get_by_label("ZIP code")).to_have_value("97477")

    country.select_option("HK")
    place.get_by_label("Area").select_option("Kowloon")
    expect(place.locator("[name=postal_code]")).to_be_hidden()
    assert fields(page) == ["District", "Area"]

    country.select_option("RO")  # it has provinces, and no choices of them
    place.get_by_label("Province (optional)").fill("Ilfov")
    country.select_option("US")
    expect(place.locator("select[name=state]")).to_have_value("")


def test_without_a_script_everything_is_shown_and_the_form_comes_back_as_the_country_has_it(
    open_page: Opener,
) -> None:
    page = open_page(viewport=PHONE, java_script_enabled=False)
    page.goto("/posters/first-sun/")
    page.get_by_role("button", name="Add to cart").click()
    page.goto("/checkout/")
    assert fields(page) == ["Postal code", "City", "State or province"]
    page.get_by_label("Country").select_option("US")
    page.get_by_label("State or province").fill("oregon")
    page.get_by_label("Postal code").fill("974")
    page.get_by_role("button", name="Place order").click()
    expect(page.get_by_label("State", exact=True)).to_have_value("OR")
    expect(page.get_by_text("Enter a ZIP code like 95014.")).to_be_visible()
    assert fields(page) == ["City", "State", "ZIP code"]
