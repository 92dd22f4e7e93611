// node-redis with default settings.
const assert = require('node:assert');
const { createClient, defineScript } = require('redis');

const add = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: "return redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])",
  parseCommand(parser, key, field, n) { parser.pushKey(key); parser.push(field, String(n)); },
  transformReply: (reply) => reply,
});

(async () => {
  const client = createClient({ url: 'redis://' + process.env.REDIS_ADDR + '/5', scripts: { add } });
  client.on('error', (e) => { throw e; });
  await client.connect();
  await client.flushDb();
  assert.equal(await client.ping(), 'PONG');
  assert.equal(await client.set('k', 'v', { EX: 60 }), 'OK');
  assert.equal(await client.get('k'), 'v');
  const ttl = await client.ttl('k');
  assert.ok(ttl > 0 && ttl <= 60);
  assert.equal(await client.get('absent'), null);
  assert.equal(await client.set('k', 'w', { NX: true }), null);
  assert.equal(await client.incrBy('n', 7), 7);
  assert.deepEqual(await client.multi().set('m', '1').incr('m').get('m').exec(), ['OK', 2, '2']);
  await Promise.all(Array.from({ length: 1000 }, (_, i) => client.set('bulk:' + i, String(i))));
  assert.deepEqual(await client.mGet(['bulk:1', 'bulk:999', 'none']), ['1', '999', null]);
  let seen = 0;
  for await (const keys of client.scanIterator({ MATCH: 'bulk:*', COUNT: 100 })) {
    seen += Array.isArray(keys) ? keys.length : 1;
  }
  assert.equal(seen, 1000);
  assert.equal(await client.del(['k', 'n', 'none']), 2);
  await assert.rejects(client.incr('text-' + (await client.set('text-OK', 'abc'))), /not an integer/);

  // Collections, and scripts by defineScript: EVALSHA, then EVAL after NOSCRIPT.
  assert.equal(await client.hSet('h', { f: 'v', g: '2' }), 2);
  assert.deepEqual({ ...await client.hGetAll('h') }, { f: 'v', g: '2' });
  assert.equal(await client.zAdd('z', [{ score: 1, value: 'one' }, { score: 2.5, value: 'two' }]), 2);
  assert.deepEqual(await client.zRangeWithScores('z', 0, -1), [{ value: 'one', score: 1 }, { value: 'two', score: 2.5 }]);
  assert.equal(await client.sAdd('s', ['x', 'y']), 2);
  assert.equal(await client.rPush('l', ['x', 'y']), 2);
  assert.equal(await client.lPop('l'), 'x');
  await client.scriptFlush();
  assert.equal(await client.add('h', 'g', 5), 7);
  assert.equal(await client.add('h', 'g', 1), 8);
  assert.deepEqual(await client.multi().add('h', 'g', 1).hGet('h', 'g').exec(), [9, '9']);
  await client.close();
  console.log('node-redis');
})().catch((e) => { console.error(e); process.exit(1); });
