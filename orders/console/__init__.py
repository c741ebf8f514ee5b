"""The operator console: pages and forms. Views parse a request, make one call to a service or selector, and render."""
