"""The page at `/`: its files, which http/page.py serves, and the state that it shows."""
