"""What of a job is run, and how it ends: passes and loops that are cut short, gone on with, or looked ahead in."""
