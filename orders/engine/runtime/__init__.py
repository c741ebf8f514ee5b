"""What every role runs in: the loop, isolation and adaptive batches, SQL, the listener, backoff, time and text."""
