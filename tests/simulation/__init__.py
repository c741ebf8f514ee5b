"""A simulation: the roles as they are, on a clock that jumps, with their transactions interleaved by a seed.

Submission, schedulers, agent hosts, supervisors (`roles`), clients, customers and operators (`people`) run in one
process, each in threads of its own, of which one runs at a time (`kernel`). They work on real PostgreSQL. Before a
statement or a commit, any other thread may come first (`database`). Meanwhile processes are killed, stopped and
replaced, connections cut, wake-ups lost, and remote services troubled (`faults`); these services are the sandbox
(`remotes`). After every commit the invariants are checked for the orders that it changed (`watch`), and at the end of a
life for all of them.

A seed replays a life, and so a failure, exactly. Each life has a PostgreSQL server of its own (`server`), so that no
other life changes where its rows lie.

    bin/simulate --minutes 10                    many lives, each with a seed of its own
    bin/simulate --seed 7 --trace traces         one life, step by step
"""
