"""A laboratory: it books instruments for each sample, and publishes a report.

export BUSINESSES=orders.shop,examples.lab
.venv/bin/python -m examples.lab.standin                                in one terminal,
bin/up                                                                  in another, and in a third
.venv/bin/python manage.py register_sample S-1 chromatography B-7
"""
