// ioredis with default settings: it waits for INFO to say that nothing is loading.
const assert = require('node:assert');
const Redis = require('ioredis');

(async () => {
  const [host, port] = process.env.REDIS_ADDR.split(':');
  const redis = new Redis({ host, port: Number(port), db: 6 });
  await redis.flushdb();
  assert.equal(await redis.set('k', 'v', 'PX', 60000), 'OK');
  assert.equal(await redis.get('k'), 'v');
  assert.deepEqual(await redis.getBuffer('k'), Buffer.from('v'));
  const results = await redis.pipeline().incr('n').incrby('n', 4).get('n').pttl('k').exec();
  assert.deepEqual(results.slice(0, 3), [[null, 1], [null, 5], [null, '5']]);
  assert.ok(results[3][1] > 0 && results[3][1] <= 60000);
  assert.deepEqual(await redis.multi().set('a', 1).get('a').exec(), [[null, 'OK'], [null, '1']]);
  await redis.watch('a');
  await redis.duplicate().set('a', 2);
  assert.equal(await redis.multi().set('a', 3).exec(), null);
  assert.equal(await redis.get('a'), '2');
  const found = [];
  for await (const keys of redis.scanStream({ match: 'a*' })) found.push(...keys);
  assert.deepEqual(found, ['a']);
  assert.equal(await redis.unlink('a', 'k'), 2);

  // Collections, and scripts by defineCommand: EVALSHA, then EVAL after NOSCRIPT.
  assert.equal(await redis.hset('h', { f: 'v', g: 2 }), 2);
  assert.deepEqual(await redis.hgetall('h'), { f: 'v', g: '2' });
  assert.equal(await redis.sadd('s', 'x', 'y'), 2);
  assert.deepEqual(await redis.zadd('z', 'NX', 1, 'one').then(() => redis.zrange('z', 0, -1, 'WITHSCORES')), ['one', '1']);
  await redis.script('FLUSH');
  redis.defineCommand('bump', { numberOfKeys: 1, lua: "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) return redis.call('HGETALL', KEYS[1])" });
  assert.deepEqual(await redis.bump('h', 'g'), ['f', 'v', 'g', '3']);
  assert.deepEqual(await redis.bumpBuffer('h', 'g'), ['f', 'v', 'g', '4'].map(Buffer.from));
  const [[, bumped], [, size]] = await redis.pipeline().bump('h', 'g').hlen('h').exec();
  assert.deepEqual([bumped[3], size], ['5', 2]);
  assert.deepEqual((await redis.multi().bump('h', 'g').exec())[0][1][3], '6');
  console.log('ioredis');
  process.exit(0);
})().catch((e) => { console.error(e); process.exit(1); });
