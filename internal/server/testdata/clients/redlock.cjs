// redlock over one server: acquire, extend, release, contention.
const assert = require('node:assert');
const Redis = require('ioredis');
const { default: Redlock, ExecutionError, ResourceLockedError } = require('redlock');

(async () => {
  const redis = new Redis('redis://' + process.env.REDIS_ADDR + '/13');
  await redis.flushdb();
  const impatient = new Redlock([redis], { retryCount: 0 });
  let lock = await impatient.acquire(['a', 'b'], 60000);
  assert.equal(await redis.exists('a', 'b'), 2);
  const seen = [];
  impatient.on('error', (e) => seen.push(e));
  await assert.rejects(impatient.acquire(['b'], 60000), ExecutionError);
  assert.ok(seen.some((e) => e instanceof ResourceLockedError));
  lock = await lock.extend(120000);
  assert.ok(await redis.pttl('a') > 60000);
  await lock.release();
  assert.equal(await redis.exists('a', 'b'), 0);
  await assert.rejects(lock.release(), ExecutionError);

  const patient = new Redlock([redis], { retryCount: -1, retryDelay: 5, retryJitter: 5 });
  patient.on('error', () => {});
  await redis.set('sum', 0);
  await Promise.all(Array.from({ length: 10 }, () => patient.using(['guard'], 60000, async () => {
    await redis.set('sum', Number(await redis.get('sum')) + 1);
  })));
  assert.equal(await redis.get('sum'), '10');
  assert.equal(await redis.exists('guard'), 0);
  redis.disconnect();
  console.log('redlock');
})().catch((e) => { console.error(e); process.exit(1); });
