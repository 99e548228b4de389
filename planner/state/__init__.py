"""Which rows are kept between runs, within a budget of bytes."""
