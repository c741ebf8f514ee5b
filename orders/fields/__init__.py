"""What every face needs: email addresses, lines of text, postal addresses, countries, numbers, money.

`email`, `text`, `numbers`, `postal_address` and `money` are pure; the others use Django's translations.
"""
