"""Who watches the watcher: every web process looks at what the others do, and tells operators what has died (O1).

    vitals     what the database says of the other roles, the queues and the outbox, and what is wrong with it
    queues     queues that do not move although their role reports that all is well
    deadlines  orders that will be late at the present pace
    disks      disks that are nearly full
    notices    notices that cannot be left to the database, because it or the web is what has failed
    watch      the look that a web process takes every few seconds

What the database can hold becomes an ordinary alert. The web delivers it itself if the jobs do not. `manage.py up`
looks at the web in turn.
"""
