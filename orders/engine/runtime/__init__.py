"""What every role runs in: the loop, adaptive batches, SQL, the listener, backoff, time and text."""
