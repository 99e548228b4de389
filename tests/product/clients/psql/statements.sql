select 1 as one \; select 2 as two \; select 3 as three;
select 1 \; select 1/0 \; select 2;
\errverbose
select 'syntax' frm nowhere where;
\errverbose
create temp table t (n int) \; insert into t values (1), (2) \; table t;
begin \; insert into t values (3);
\echo :ERROR :SQLSTATE :ROW_COUNT :LAST_ERROR_MESSAGE
rollback;
do $$ begin raise notice 'first'; raise warning 'second' using hint = 'a hint', detail = 'a detail'; raise info 'third'; end $$;
select 1 as shown, 'gdesc' as text, now() \gdesc
select 'create table described_' || n || ' (n int)' from generate_series(1, 3) n \gexec
drop table described_1, described_2, described_3;
select 5 as five, null as nothing \gset taken_
\echo :taken_five :{?taken_nothing}
select :'taken_five'::int + 1;
select a, b, a * b from generate_series(1, 3) a, generate_series(1, 3) b \crosstabview
\set FETCH_COUNT 10
select n, repeat('x', n % 7) from generate_series(1, 95) n;
select 1/(50 - n) from generate_series(1, 95) n;
\unset FETCH_COUNT
\set ON_ERROR_ROLLBACK on
begin;
insert into t values (4);
select * from nowhere;
insert into t values (5);
commit;
table t;
\unset ON_ERROR_ROLLBACK
begin;
select * from nowhere;
select 1;
;
end;
\set AUTOCOMMIT off
insert into t values (6);
rollback;
\set AUTOCOMMIT on
select count(*) from t;
prepare plan (int) as select $1 + 1;
execute plan(1);
deallocate plan;
declare c scroll cursor with hold for select generate_series(1, 10);
fetch 3 from c;
fetch backward 1 from c;
fetch last from c;
close c;
\pset format csv
select 1 as a, 'b,c' as b;
\pset format unaligned
set client_encoding = 'LATIN1';
select 'naive: ' || chr(239);
reset client_encoding;
listen news;
notify news, 'a payload';
select 1;
unlisten news;
copy t to stdout;
copy t from stdin;
7
8
\.
copy t from stdin;
nine
\.
copy (select * from t order by n) to stdout (format csv, header);
