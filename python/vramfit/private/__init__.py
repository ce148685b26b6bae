"""Names that libraries do not promise to keep, a file for each library. Each name stands there once, with what is lost
without it; nothing else touches one (tools/check_private_names). All are looked up once their library is imported,
and those that are gone are noted (base/notes.py).
"""
