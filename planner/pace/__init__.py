"""How often each path of a plan is worked."""
