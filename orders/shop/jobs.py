"""The shop's periodic jobs."""

from orders.business import PeriodicJob
from orders.shop.stock import read_stock

JOBS = (PeriodicJob(run=read_stock),)
