"""Dynamic parameters of any robot from its logs."""
