"""What the job is doing and whose its memory is, told to the recorder and in notes. Changes nothing of it."""
