// Makes and drops objects of a kind ("STANDING QUERY", "MATERIALIZED VIEW") with node-postgres.
import pg from "pg";

const [connectionString, kind] = process.argv.slice(2);
const client = new pg.Client({ connectionString });
await client.connect();

async function run(query) {
  try {
    const results = [await client.query(query)].flat();
    console.log(results.map(({ command, rowCount, rows }) => JSON.stringify([command, rowCount, rows])).join(" "));
  } catch ({ code, message }) {
    console.log(code, message);
  }
}

for (const query of [
  `CREATE ${kind} made AS SELECT id, name FROM read_by_node WITH NO DATA`,
  `CREATE ${kind} made AS SELECT 1 AS a`,
  "BEGIN",
  `DROP ${kind} made`,
  "ROLLBACK",
  `BEGIN; SAVEPOINT s; DROP ${kind} made; ROLLBACK TO s; COMMIT`,
  `INSERT INTO read_by_node VALUES (1, 'x'); CREATE ${kind} other AS SELECT nope FROM read_by_node`,
  "SELECT count(*) FROM read_by_node",
  { text: `DROP ${kind} made`, queryMode: "extended" },
  { name: "dropped", text: `DROP ${kind} IF EXISTS made` },
  { name: "dropped", text: `DROP ${kind} IF EXISTS made` },
  `DROP ${kind} made`,
]) {
  await run(query);
}
await client.end();
