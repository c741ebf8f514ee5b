"""What every face needs: email addresses, lines of text, postal addresses, countries, numbers, orders' numbers, money.

`email`, `text`, `numbers`, `order_numbers`, `postal_address` and `money` are pure. The others use Django's
translations.
"""
