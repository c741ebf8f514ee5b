"""Who may do what: access levels, the second factor, operators' sessions, signed links."""
