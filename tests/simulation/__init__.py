"""A simulation: the roles as they are, on a clock that jumps, with their transactions interleaved by a seed.

Submission, schedulers, agent hosts, supervisors, and what operators and customers do run in one process, each in threads
of its own, of which one runs at a time (`kernel`). They work on real PostgreSQL. Before each statement and each commit a
thread may be overtaken by any other (`database`), and meanwhile processes are killed, stopped and replaced, connections
cut, wake-ups lost, and remote services troubled (`faults`). The remote services are the sandbox (`remotes`). After every
commit the invariants are checked for the orders that it changed (`watch`), and at the end of a life for all of them.

A seed decides everything, so it repeats a failure exactly.

    bin/simulate --minutes 10          many lives, one seed each
    bin/simulate --seed 7 --trace      one life, step by step
"""
