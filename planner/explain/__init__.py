"""Plans and schedules as text."""
