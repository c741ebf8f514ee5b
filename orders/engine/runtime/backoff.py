"""How long to wait before trying again: capped exponential backoff with full jitter.

Full jitter (a uniform wait between zero and the cap of that try) spreads a crowd of retries best; see the AWS
Architecture Blog, "Exponential Backoff And Jitter".
"""

import random


def full_jitter(tries: int, *, first: float, cap: float, rng: random.Random | None = None) -> float:
    """Seconds to wait after that many failed tries (1 or more): uniform in [0, min(cap, first × 2^(tries - 1))]."""
    ceiling = min(cap, first * 2.0 ** min(max(tries, 1) - 1, 60))
    return (rng or random).uniform(0.0, ceiling)
