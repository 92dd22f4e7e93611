// rate-limit-redis under express-rate-limit, and rate-limiter-flexible: both count by scripts.
const assert = require('node:assert');
const { createClient } = require('redis');
const Redis = require('ioredis');
const { RedisStore } = require('rate-limit-redis');
const { RateLimiterRedis, RLWrapperBlackAndWhite, BurstyRateLimiter } = require('rate-limiter-flexible');

(async () => {
  const url = 'redis://' + process.env.REDIS_ADDR + '/12';
  const client = createClient({ url });
  await client.connect();
  await client.flushDb();

  const store = new RedisStore({ sendCommand: (...args) => client.sendCommand(args) });
  store.init({ windowMs: 60000 });
  const hits = await Promise.all(Array.from({ length: 20 }, () => store.increment('user')));
  assert.deepEqual(hits.map((hit) => hit.totalHits).sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i + 1));
  for (const { resetTime } of hits) assert.ok(resetTime > Date.now() && resetTime <= Date.now() + 60000);
  await store.decrement('user');
  assert.equal((await store.get('user')).totalHits, 19);
  await store.resetKey('user');
  assert.equal((await store.increment('user')).totalHits, 1);

  const redis = new Redis(url);
  for (const [name, options] of Object.entries({
    ioredis: { storeClient: redis },
    node_redis: { storeClient: client, useRedisPackage: true },
  })) {
    const limiter = new RateLimiterRedis({ ...options, keyPrefix: name, points: 10, duration: 60, blockDuration: 120 });
    const results = await Promise.allSettled(Array.from({ length: 15 }, () => limiter.consume('user')));
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 10, name);
    const refused = results.find((result) => result.status === 'rejected').reason;
    assert.ok(!(refused instanceof Error) && refused.remainingPoints === 0 && refused.msBeforeNext > 60000, name);
    assert.equal((await limiter.get('user')).remainingPoints, 0);
    assert.equal(await limiter.delete('user'), true);
    assert.equal(await limiter.get('user'), null);
    assert.equal((await limiter.penalty('user', 3)).consumedPoints, 3);
    assert.equal((await limiter.reward('user', 1)).consumedPoints, 2);
    assert.equal((await limiter.block('user', 60)).remainingPoints, 0);
    const bursty = new BurstyRateLimiter(
      new RateLimiterRedis({ ...options, keyPrefix: name + 'steady', points: 1, duration: 60 }),
      new RateLimiterRedis({ ...options, keyPrefix: name + 'burst', points: 2, duration: 60 }));
    const bursts = await Promise.allSettled(Array.from({ length: 5 }, () => bursty.consume('user')));
    assert.equal(bursts.filter((result) => result.status === 'fulfilled').length, 3, name);
  }
  await client.close();
  redis.disconnect();
  console.log('rate limits');
})().catch((e) => { console.error(e); process.exit(1); });
