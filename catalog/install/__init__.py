"""The schema `gavial` itself: installed, and what may not be in its queries."""
