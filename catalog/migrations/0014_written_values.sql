-- Numerics of any scale are stored with their text: what lies in the warehouse without it is copied anew.
UPDATE gavial.sources SET state = 'joining', detail = 'its values are stored in another form; it is copied anew'
WHERE state IN ('captured', 'stopped');
