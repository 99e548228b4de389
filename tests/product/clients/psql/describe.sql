create schema described;
set search_path = described;
create domain positive as int check (value > 0);
create type mood as enum ('glad', 'sad');
create table parent (
    id int generated always as identity primary key,
    name text not null default 'nobody' unique,
    feeling mood
);
comment on table parent is 'who is referred to';
comment on column parent.name is 'a name, ''quoted''';
create table child (
    parent int references parent on delete cascade,
    size positive check (size < 100),
    exclude using btree (size with =)
) with (fillfactor = 70);
create index by_size on child (size desc nulls last) where size > 3;
create table divided (day date, n numeric(10, 2)) partition by range (day);
create table divided_2026 partition of divided for values from ('2026-01-01') to ('2027-01-01');
create view happy as select id, name from parent where feeling = 'glad' with check option;
create materialized view counted as select count(*) from child;
create sequence numbers increment 5 cache 10;
create function add(a int, b int default 1) returns int language sql immutable as $$ select a + b $$;
create procedure nothing() language plpgsql as $$ begin null; end $$;
create function touched() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger touch before update on parent for each row execute function touched();
create rule quiet as on insert to child where new.size = 1 do instead nothing;
alter table parent enable row level security;
create policy own on parent using (name = current_user);
create statistics related (dependencies) on parent, size from child;
\d
\d+ parent
\d+ child
\d+ divided
\d divided_2026
\d+ happy
\d+ counted
\d numbers
\d by_size
\d positive
\d nowhere
\dt described.*
\di described.*
\dv
\dm
\ds
\df
\df+ add
\dT+ mood
\dD
\dP
\dp parent
\dX
\dy
\dn described
\dx
\db
\dc pg_catalog.utf8_to_win
\dC xid8
\dF
\dL
\do pg_catalog.|/
\dO pg_catalog.POSIX
\drds
\sf add
\sv happy
\d pg_class
\l gav*
drop schema described cascade;
