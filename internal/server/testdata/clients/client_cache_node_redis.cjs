// node-redis with clientSideCache: what it keeps is dropped when another client, another server or SQL writes it.
const assert = require('node:assert');
const { createClient, BasicClientSideCache } = require('redis');
const { addresses, until, sql } = require('./waiting.cjs');

// node-redis 5.12.1 keeps an answer that comes together with the message to drop everything, as after FLUSHDB.
class Cache extends BasicClientSideCache {
  clear(resetStats) {
    for (const [, entry] of this.entryEntries()) entry.invalidate();
    super.clear(resetStats);
  }
}

async function check(other) {
  const cache = new Cache({ ttl: 0, maxEntries: 0, evictPolicy: 'LRU' });
  const client = createClient({ url: 'redis://' + addresses.one + '/3', RESP: 3, clientSideCache: cache });
  client.on('error', (e) => { throw e; });
  await client.connect();
  const writer = await createClient({ url: 'redis://' + other + '/3', RESP: 3 }).connect();
  await writer.flushDb();

  // Repeated reads come from memory.
  await writer.set('k', '1');
  await until(async () => await client.get('k') === '1', 'the first value');
  await until(async () => {
    const before = cache.stats();
    for (let i = 0; i < 20; i++) assert.equal(await client.get('k'), '1');
    const after = cache.stats();
    return after.hitCount - before.hitCount === 20;
  }, 'reads from memory');

  const invalidated = async (read, write, want, what) => {
    await read();
    await write();
    let got;
    await until(async () => { got = await read(); return JSON.stringify(got) === JSON.stringify(want); }, what).catch((e) => { throw new Error(`${e.message}: it is ${JSON.stringify(got)}`); });
  };
  const get = () => client.get('k');
  await invalidated(get, () => writer.set('k', '2'), '2', 'SET');
  await invalidated(get, () => writer.incr('k'), '3', 'INCR');
  await invalidated(get, () => writer.multi().set('k', 'tx').set('l', 'tx').exec(), 'tx', 'EXEC');
  await invalidated(get, () => writer.eval("return redis.call('SET', KEYS[1], 'script')", { keys: ['k'] }), 'script', 'EVAL');
  await invalidated(get, () => writer.rename('l', 'k'), 'tx', 'RENAME');
  await invalidated(get, () => writer.del('k'), null, 'DEL');
  await invalidated(get, () => writer.set('k', 'back'), 'back', 'SET of an absent key');
  await invalidated(() => client.hGet('h', 'f'), () => writer.hSet('h', 'f', '1'), '1', 'HSET');
  await invalidated(() => client.sMembers('s'), () => writer.sAdd('s', 'x'), ['x'], 'SADD');
  await invalidated(() => client.mGet(['k', 'm']), () => writer.set('m', '1'), ['back', '1'], 'MGET');
  await invalidated(get, () => client.set('k', 'own'), 'own', 'a write of its own');
  await invalidated(get, () => writer.pExpire('k', 30), null, 'an entry that expires');
  await writer.set('k', 'again');
  await invalidated(get, () => writer.flushDb(), null, 'FLUSHDB');
  if (sql("SELECT howdah.set_text('db3', 'k', 'from psql')")) {
    await invalidated(get, () => {}, 'from psql', 'howdah.set_text');
    await invalidated(get, () => sql("SELECT howdah.set_text('db3', 'k', 'twice')"), 'twice', 'howdah.set_text');
    await invalidated(get, () => sql("SELECT howdah.delete_text('db3', 'k')"), null, 'howdah.delete_text');
  }

  // While another client counts up, the count never falls.
  await writer.set('count', '0');
  await until(async () => await client.get('count') === '0', 'the first count');
  let last = 0, counting = true;
  const done = (async () => { for (let i = 0; i < 300; i++) await writer.incr('count'); counting = false; })();
  while (counting) {
    const now = Number(await client.get('count'));
    assert.ok(now >= last, `the count fell from ${last} to ${now}`);
    last = now;
    await new Promise(setImmediate); // reads from memory alone would never let the network in
  }
  await done;
  await until(async () => await client.get('count') === '300', 'the last count');
  await client.close();
  await writer.close();
}

// A database without a change log: the client works as without a cache.
async function withoutLog() {
  const clientSideCache = new BasicClientSideCache({ ttl: 0, maxEntries: 0, evictPolicy: 'LRU' });
  const client = createClient({ url: 'redis://' + addresses.one + '/6', RESP: 3, clientSideCache });
  client.on('error', (e) => { throw e; });
  await client.connect();
  const writer = await createClient({ url: 'redis://' + addresses.other + '/6', RESP: 3 }).connect();
  for (let i = 0; i < 20; i++) {
    await writer.set('k', `${i}`);
    await until(async () => await client.get('k') === `${i}`, 'what another server has stored');
  }
  await client.close();
  await writer.close();
}

(async () => {
  await withoutLog();
  await check(addresses.one);
  await check(addresses.other);
  console.log('client-side cache of node-redis');
})().catch((e) => { console.error(e); process.exit(1); });
