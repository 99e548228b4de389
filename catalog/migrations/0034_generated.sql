-- Generated columns that came after their tables were copied were not noted.
UPDATE gavial.sources s SET generated = ARRAY(
    SELECT unnest(s.generated) UNION
    SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = s.relation AND a.attgenerated <> '' AND NOT a.attisdropped)
WHERE current_setting('server_version_num')::int < 180000;
