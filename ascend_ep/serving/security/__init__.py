"""Who may talk to the server: TLS, client certificates, bearer tokens."""
