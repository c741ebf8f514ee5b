"""Each guard taken away, one at a time, and the test that must then fail: `bin/mutate [NAME…]`.

A mutant is a text in the product that is replaced by another one, in a copy of the project. It is killed when its test
fails; one that survives is a guard that no test holds.
"""
