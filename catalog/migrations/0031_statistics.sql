-- The statistics of a plan by names; they were by place, and of earlier versions the tables alone.
UPDATE gavial.plans p SET statistics = jsonb_build_object(
    'long_numbers', coalesce(p.statistics -> 'long_numbers', 'false'),
    'tables', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('schema', t -> 0, 'name', t -> 1, 'rows', t -> 2, 'columns', (
            SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('attribute', c -> 0, 'distinct', c -> 1,
                'null_share', c -> 2, 'least', c -> 3, 'greatest', c -> 4, 'grows', c -> 5))), '[]')
            FROM jsonb_array_elements(t -> 3) AS c))), '[]')
        FROM jsonb_array_elements(CASE jsonb_typeof(p.statistics) WHEN 'array' THEN p.statistics ELSE p.statistics -> 'tables' END) AS t));
