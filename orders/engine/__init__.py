"""The engine: takes every order through its workflow, or back out of it, whatever fails on the way.

This is the Scheduler Agent Supervisor pattern over one PostgreSQL database. An order's steps are remote calls: the
scheduler starts them, agents make them, and the supervisor finds those that went silent. An order either completes
every step, or compensates every effect it had, or stops in Error with an alert for an operator. The engine knows no
product, no price and no remote service: a business plugs in a `Workflow`, one `Agent` per remote service and an
`Intake`, all of them described in `contracts`.

    application ─▶ submissions ─▶ Submitter ─▶ orders and state store ◀── overdue rows ── Supervisor
         ▲                                          ▲           ▲
         └─ response queue ◀───────── Scheduler ────┘           │ failed calls, for the history
                                       │    ▲                   │
                              requests ▼    │ replies           │
                                     AgentHost ─────────────────┘
                                       │
                                       └─▶ agents ─▶ remote services

Every arrow except the remote calls is a row in the same database. A change of state and the messages that follow from
it commit together, so a process that dies takes nothing with it. Every role may run many times, on many machines.

# States

    process    pending ─claimed─▶ processing ─last step─▶ processed, or compensated if the goal is to compensate
                  ▲                │  │
                  ├─ must wait, ───┘  └─ nontransient fault, or too many failures ─▶ error ─┐
                  │  or is overdue                                                          │
                  └──────────────────── resubmitted, or to be compensated ──────────────────┘

    step       not_started ─started─▶ running ─reply─▶ completed
                    ▲ ▲                │   └─ error reply, or too many failures ─▶ failed ─┐
                    │ └─ overdue, or ──┘                                                   │
                    │    handed back                                                       │
                    └─────────────────────────── resubmitted ──────────────────────────────┘
                    ready to wait, or "answered later" ─▶ awaiting ─answer, or a time─▶ completed or failed
               an effect that happened, or may have ─▶ compensating ─▶ compensated
               a step that is not under way ─ an operator skips it ─▶ skipped

An awaiting step is parked: it waits for a person's decision, an outside event, a time, or an answer that its remote
service gives later. Nothing runs for it, nothing is held, and no failure is counted.

A process has a goal, complete or compensate, and goes through the same machine for both. Compensation can be requested
in any state, even `processed`. `docs/state-machines.md` lists every transition with the event that records it.

# Messages

    message      posted by                taken by           what it carries
    submission   an application           Submitter          an order's description, perhaps a response queue
    request      Scheduler                AgentHost          step, attempt, complete-by, key, data, earlier results
    reply        AgentHost, or whoever    Scheduler          the outcome and the answer of one attempt
                 answers an awaiting step
    status       Submitter, Scheduler     the application    received, started, completed, failed or compensated
    wake-up      whoever posts            whoever waits      nothing: only a hint, by NOTIFY; everybody also polls

# The twelve rules

    1.  One transaction reads, decides and writes. A pass of the scheduler locks its orders, takes their replies,
        starts the steps that are ready, and commits. It keeps nothing about an order for the next pass.

    2.  A pass is set-based: a fixed number of statements, for one order or for a few hundred.

    3.  Requests are leased. When a host dies, its leases lapse, and another host claims its requests. Each claim
        counts up the request's delivery number, and an answer must carry the latest: an earlier holder cannot answer.

    4.  A reply counts only for a step's latest attempt, and only once, whatever state the process is in. A host posts
        it only before complete-by, by the database's clock.

    5.  The idempotency key is order/step/generation. Automatic retries keep it, so a remote service that honours keys
        performs an effect once. The generation grows only when it is known that nothing was done; the corrected call
        then counts as a new one.

    6.  After complete-by there is silence. The host enforces it for all agents: it posts nothing, not even an error.

    7.  The supervisor only changes rows. It touches no channel and calls no service: schedulers carry out what it
        decides. A lease elects the leader, and every transaction that writes checks the leader's term.

    8.  Compensation runs backward over the same machine. Every step whose outcome is done or unknown is compensated,
        after all the steps that depend on it. Requests that no host has begun are recalled. A forward call under way
        is awaited, and one whose outcome is unknown is given its settle time, because it may still take effect.

    9.  Dispatch needs credit. About twice an agent's live capacity may be outstanding, of which each live scheduler
        has its share; while its circuit is open, only a probe. A step without credit waits, with no complete-by and
        no failure counted, until its patience is over: an outage delays orders, and fails none. A remote service that
        asks for time is given it in the same way. A circuit opens on the failures of several orders; one that fails
        while others succeed has its own counted.

    10. Workflows are data with a version, and an order finishes on the version that it started with, unless an operator
        moves it to a later one while nothing is in flight. What may have happened keeps its key. A release that
        does not have that version, or has changed it, leaves the order to one that has it as it was.

    11. Poison is isolated. After an unexpected error the orders of the pass are bisected; one that fails alone while
        others succeed goes into Error with an alert. When different orders fail with the same error, the release is at
        fault: none is blamed, the role stops claiming, and it goes on when an order succeeds again. A pass that runs
        out of time is halved. A request whose lease has lapsed twice is a suspect, of which a host runs few at once.

    12. Nobody holds a lock forever, and nobody deadlocks. Every writer of steps first locks their processes, in the
        order of their ids. The server ends transactions that are long or idle, and every transaction can be repeated.

# When something fails

    a remote call fails          the host tries again within the complete-by time, within a budget shared by all hosts
    it asks for time             the step waits for as long, and no failure is counted
    it refuses for good          the step fails: the order goes into Error, or waits for a customer who can fix it
    it stays silent              the supervisor counts a failure and has it retried with the same key, after a backoff
    too often                    the step's remedy: extended waits, then Error with an alert, or compensation
    nobody can tell its effect   after an unexpected error, an incomplete answer, or when its key may be forgotten, the
                                 step fails with that key, and an operator resubmits it or settles it by hand
    the order takes too long     it starts no further step; the supervisor frees it again, or ends it in Error
    the service is down          its circuit opens with one alert; its steps wait, and a ramp lets them go later
    a host dies                  its leases lapse, and another host makes the calls again with the same keys
    a scheduler dies             its transaction rolls back, and another scheduler takes the next reply
    the leading supervisor dies  its lease lapses, and another supervisor leads, with the next term
    a release cannot run orders  they wait; operators get one alert, and the orders go on when it works again
    the database is slow         passes become smaller; an alert once a role has completed none for a minute
    a compensation fails         it is retried more often than a forward step; then Error, with an alert of its own kind

# Where each thing lives

    contracts, waits             what a business declares, and what its steps may wait for
    fallbacks, results           what a step does when it fails or is reversed; what its result must hold
    errors, rows                 the tree of errors; rows as plain tuples
    moving                       what becomes of an order's steps on a later version, or why it cannot move there
    parking, callbacks           how an awaiting step is parked; the tokens with which services answer later
    submission                   the Submitter: inserts orders with their processes and steps, or sets them aside
    scheduler/                   the Scheduler; one order's pass; pure decisions: what comes next on the way forward
                                 (progress) and on the way back (compensation), and what has credit (dispatch)
    agent_host/                  the AgentHost; one call with its retries; its view of the circuits; its records
    supervisor/                  the Supervisor; pure remedies; leadership
    admission                    which workflows this release may run: those that are as their orders started with them
    role_health                  heartbeats of the roles, and the alerts about a role or a release
    retry_rules                  for all steps alike: how many failures, and how long the backoff
    circuits/                    the breakers: pure rules, rows, credit, and what operators override
    state_store/                 the one door through which processes, steps and events are written
    channels/                    the one door through which messages are written and taken
    alerts                       what operators are told
    runtime/                     what every role runs in: loop, orderly stop, isolation, SQL, listener, time

A role imports no other role, and the modules of pure decisions import neither Django nor a database:
`tests/architecture/test_engine_arrows.py` enforces both.
"""
