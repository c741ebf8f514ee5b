"""Who may do what: roles, the second factor, sessions, signed links."""
