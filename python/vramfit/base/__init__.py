"""What every package stands on: notes, events, the recorder, imports. Knows nothing of what a job does."""
