select $1::int + $2::int as sum \bind 1 2 \g
select $1::text \bind 'it''s' \gx
select 1/$1::int \bind 0 \g
\errverbose
\startpipeline
select $1::int as first \bind 1 \sendpipeline
select $1::int as second \bind 2 \sendpipeline
\flushrequest
\getresults
select 1/0 \bind \sendpipeline
select 3 as skipped \bind \sendpipeline
\syncpipeline
select 4 as after \bind \sendpipeline
\endpipeline
select $1::int as parsed \parse named
\bind_named named 5 \g
\bind_named named 6 \g
\close_prepared named
\bind_named named 7 \g
