// A session with node-postgres; what it prints must not depend on what it is connected to.
import pg from "pg";

const connectionString = process.argv[2];

function show(name, value) {
  console.log(name, JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)));
}

function shape({ command, rowCount, rows, fields }) {
  return { command, rowCount, rows, fields: fields.map(({ name, dataTypeID, format }) => [name, dataTypeID, format]) };
}

async function refused(name, promise) {
  try {
    show(name, await promise);
  } catch ({ code, severity, message, position, routine, constraint, detail }) {
    show(name, { code, severity, message, position, routine, constraint, detail });
  }
}

async function simple(client) {
  show("one", shape(await client.query("select 1 as one, 'text' as text, null as nothing")));
  const several = await client.query("select 1; create temp table t (n int primary key); insert into t values (1), (2); table t");
  show("several", several.map(shape));
  show("empty", shape(await client.query("")));
}

async function parameterised(client) {
  const query = "select $1::int + 1 as n, $2::text as t, $3::jsonb as j, $4::timestamptz as at, $5::bytea as b, $6::int[] as a";
  const values = [41, "it's", { a: [1] }, new Date(0), Buffer.from([0, 255]), [1, null, 3]];
  show("parameters", shape(await client.query(query, values)));
  show("array rows", shape(await client.query({ text: "select $1::int, $1::int * 2", values: [3], rowMode: "array" })));
  show("binary", shape(await client.query({ text: "select $1::int4 as n, $2::int8 as m", values: [5, 6], binary: true })));
}

async function named(client) {
  for (const n of [1, 2, 3]) {
    show("named", shape(await client.query({ name: "add", text: "select $1::int + 1 as n", values: [n] })));
  }
  show("prepared", (await client.query("select name, statement from pg_prepared_statements")).rows);
  await refused("same name", client.query({ name: "add", text: "select 'other'" }));
}

async function errors(client) {
  await refused("syntax", client.query("select 1 frm nowhere where"));
  await refused("parameter", client.query("select $1::int", ["one"]));
  await refused("constraint", client.query("insert into t values ($1)", [1]));
  await refused("unknown prepared", client.query({ name: "bad", text: "select nowhere", values: [] }));
  await client.query("begin");
  await refused("in transaction", client.query("select 1/0"));
  await refused("failed transaction", client.query("select 1"));
  show("rollback", shape(await client.query("commit")));
  show("usable", shape(await client.query("select count(*) from t")));
}

async function queued(client) {
  const answers = await Promise.allSettled(
    ["select 1 as n", "select 1/0 as n", "select 3 as n"].map((text) => client.query(text, [])),
  );
  show("queued", answers.map(({ value, reason }) => value?.rows[0].n ?? reason.code));
}

async function listening(client) {
  const heard = new Promise((resolve) => client.once("notification", resolve));
  const notices = [];
  client.on("notice", ({ severity, code, message }) => notices.push([severity, code, message]));
  await client.query("listen news");
  await client.query("do $$ begin raise notice 'one'; raise warning 'two'; notify news, 'payload'; end $$");
  const { channel, payload, processId } = await heard;
  show("heard", [channel, payload, processId === client.processID]);
  show("notices", notices);
}

async function pooled() {
  const pool = new pg.Pool({ connectionString, max: 10 });
  const queries = Array.from({ length: 100 }, (_, n) =>
    pool.query("select $1::int as n, repeat('x', $1) as t, pg_sleep(0.01)", [n]),
  );
  show("pool", (await Promise.all(queries)).map(({ rows: [{ n, t }] }) => [n, t.length]));
  await pool.end();
}

async function large(client) {
  const { rows } = await client.query("select n, repeat('y', 1000) as t from generate_series(1, 20000) n");
  show("large", [rows.length, rows.at(-1).n, rows.reduce((total, { t }) => total + t.length, 0)]);
  const megabytes = "z".repeat(5_000_000);
  show("long parameter", (await client.query("select length($1::text) as n", [megabytes])).rows);
}

const client = new pg.Client({ connectionString, application_name: "node" });
await client.connect();
for (const part of [simple, parameterised, named, errors, queued, listening, large]) {
  await part(client);
}
await client.end();
await pooled();
