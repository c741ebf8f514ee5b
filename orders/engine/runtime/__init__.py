"""What every role runs in, and what touches no pattern: the loop, SQL, the listener, time and text."""
