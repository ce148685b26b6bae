"""The sections of ./test."""
