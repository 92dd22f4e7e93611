// The recipe for Node.js in docs/fetch.md, by many callers.
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { createClient } = require("redis");

const docs = fs.readFileSync(path.join(__dirname, "../../../../docs/fetch.md"), "utf8");
const fetchThrough = new Function(`${/```js\n([^]*?)```/.exec(docs)[1]}; return fetchThrough`)();

(async () => {
  const client = createClient({ url: `redis://${process.env.REDIS_ADDR}/6` });
  await client.connect();
  await client.flushDb();
  let loads = 0;
  const load = async () => {
    loads++;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return "loaded";
  };
  const values = await Promise.all(Array.from({ length: 20 }, () => fetchThrough(client, "k", load, { ttl: 60000 })));
  assert.deepStrictEqual(values, Array(20).fill("loaded"));
  assert.strictEqual(loads, 1);
  const fail = async () => { throw new Error("away"); };
  await assert.rejects(fetchThrough(client, "failing", fail, { ttl: 60000 }), /away/);
  assert.strictEqual(await fetchThrough(client, "failing", async () => "again", { ttl: 60000 }), "again");
  assert.strictEqual(await fetchThrough(client, "nothing", async () => null, { ttl: 60000 }), null);
  assert.strictEqual(await fetchThrough(client, "nothing", fail, { ttl: 60000 }), null);
  await client.close();
  console.log("fetch");
})().catch((err) => { console.error(err); process.exit(1); });
