// SHOW of one setting with node-postgres, in every way that it can send it.
import pg from "pg";

const [connectionString, setting] = process.argv.slice(2);
const client = new pg.Client({ connectionString });

function print(name, { command, rowCount, rows, fields }) {
  console.log(name, JSON.stringify({ command, rowCount, rows, fields: fields.map(({ name, dataTypeID }) => [name, dataTypeID]) }));
}

await client.connect();
print("simple", await client.query(`SHOW ${setting}`));
print("parsed", await client.query({ text: `show ${setting}`, queryMode: "extended" }));
print("rows as arrays", await client.query({ text: `show ${setting}`, rowMode: "array", values: [] }));
for (const turn of ["first", "second", "third"]) {
  print(`named, ${turn}`, await client.query({ name: "shown", text: `ShOw ${setting.toUpperCase()};` }));
}
for (const [n, result] of (await client.query(`begin; show ${setting}; commit`)).entries()) {
  print(`of several, ${n}`, result);
}
print("literal", await client.query(`select 'show ' || $1 as t, 'show ${setting}' as u`, [setting]));
await client.end();
