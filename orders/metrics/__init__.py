"""What Prometheus collects: /metrics.

    families   the metrics, with their names, units and explanations, from what the database says
    scrape     one read of the database for all that ask within a few seconds
    access     who may read it

Every figure is the whole system's, not this process's, so one web process is enough to ask.
"""
