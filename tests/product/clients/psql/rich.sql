create schema shop;
create extension pg_trgm schema shop;
create type shop.state as enum ('open', 'paid');
create table shop.customer (id int generated always as identity primary key, name text not null, joined timestamptz);
create table shop.purchase (
    id bigint primary key, customer int references shop.customer deferrable, state shop.state default 'open',
    amount numeric(12, 2) check (amount >= 0), content bytea, tags text[], document jsonb,
    tax numeric(12, 2) generated always as (amount * 0.19) stored
);
create table shop.event (at date not null, what text) partition by list (what);
create table shop.event_other partition of shop.event default;
create index on shop.purchase using gin (tags);
create index on shop.customer using gin (name shop.gin_trgm_ops);
create view shop.owed as select customer, sum(amount) from shop.purchase where state = 'open' group by 1;
create materialized view shop.totals as select state, count(*) from shop.purchase group by 1;
create function shop.touch() returns trigger language plpgsql as $body$
begin
    -- SHOW gavial.version; 'quoted' "names" $$
    return new;
end $body$;
create trigger touch before insert on shop.customer for each row execute function shop.touch();
create publication everything for table shop.customer;
comment on table shop.purchase is 'show gavial.version; select ''x''';
insert into shop.customer (name, joined)
    select 'name ' || n || E' \\ \t\n' || chr(8364), timestamptz '2026-01-01' + n * interval '1 minute' from generate_series(1, 5000) n;
insert into shop.purchase
    select n, 1 + n % 5000, (array['open', 'paid'])[1 + n % 2]::shop.state, n / 7.0, sha256(n::text::bytea),
        array['a' || n % 10, null, 'show gavial.version'], jsonb_build_object('n', n, 'nested', array[n, n])
    from generate_series(1, 20000) n;
insert into shop.event select date '2026-01-01' + n % 365, 'event ' || n from generate_series(1, 1000) n;
refresh materialized view shop.totals;
select lo_from_bytea(4711, convert_to(repeat('large object ', 100000), 'UTF8'));
comment on large object 4711 is 'large';
