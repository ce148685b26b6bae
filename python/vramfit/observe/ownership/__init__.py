"""Who holds a job's tensors: found by walking what is alive (census), told to the recorder as tags of live blocks.

A tag counts for the whole life of its block, so a walk after the peak still names what was there at the peak.
"""
