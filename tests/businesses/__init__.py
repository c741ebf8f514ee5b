"""Two businesses side by side as real processes. It runs with BUSINESSES=orders.shop,examples.lab, as bin/test does."""
