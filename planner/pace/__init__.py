"""How often each path of a plan is run."""
