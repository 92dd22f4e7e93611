// keyv over Redis, which is beneath cache-manager, NestJS and cacheable.
const assert = require('node:assert');

(async () => {
  const { default: KeyvRedis } = require('@keyv/redis');
  const { default: Keyv } = require('keyv');
  const keyv = new Keyv({ store: new KeyvRedis('redis://' + process.env.REDIS_ADDR + '/7'), namespace: 'app' });
  await keyv.clear();
  await keyv.set('k', { a: 1 }, 60000);
  assert.deepEqual(await keyv.get('k'), { a: 1 });
  assert.equal(await keyv.get('absent'), undefined);
  assert.equal(await keyv.has('k'), true);
  assert.equal(await keyv.delete('k'), true);
  await keyv.set('x', 1);
  await keyv.clear();
  assert.equal(await keyv.get('x'), undefined);
  await keyv.disconnect();
  console.log('keyv');
})().catch((e) => { console.error(e); process.exit(1); });
