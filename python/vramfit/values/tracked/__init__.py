"""`VRAMFIT_VALUES=tracked`: values that may steer a program are followed, and computed where they can be."""
