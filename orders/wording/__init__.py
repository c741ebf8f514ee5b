"""The words that several pages, commands or emails share: events, standings, states, sums and durations.

Pages, commands, emails and the API take their sentences from here. What customers read goes through gettext. Operators
read English.
"""
