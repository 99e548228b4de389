"""One firing: what there is to do, which batches it needs, how far it is."""
