"""Receipts for what customers have paid: `contents` says what is on one, and `typesetting` makes a PDF of it.

`receipt.typ` is the sheet, in Typst. Its fonts are in `fonts`, so that a receipt looks the same wherever it is made:
subsets of Noto Sans, and the shop's Fraunces. `glyphs` says what becomes of a character that none of them has.
"""
