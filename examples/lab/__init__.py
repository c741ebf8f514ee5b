"""A laboratory: two instruments analyse each sample, a person reviews what they have found, a report is published.

.venv/bin/python -m examples.lab.standin                                in one terminal,
BUSINESSES=orders.shop,examples.lab bin/up                              in another, and in a third
.venv/bin/python manage.py register_sample S-1 chromatography B-7

Then accept or reject it on the console's page "Decisions".
"""
