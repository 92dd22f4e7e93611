// connect-redis, the session store of express-session.
const assert = require('node:assert');
const session = require('express-session');
const { createClient } = require('redis');

(async () => {
  const { RedisStore } = require('connect-redis');
  const client = createClient({ url: 'redis://' + process.env.REDIS_ADDR + '/8' });
  await client.connect();
  const store = new RedisStore({ client, prefix: 'sess:' });
  assert.ok(store instanceof session.Store);
  const call = (verb, ...args) => new Promise((resolve, reject) =>
    store[verb](...args, (err, value) => (err ? reject(err) : resolve(value))));
  const data = { user: 'u', cookie: { maxAge: 60000 } };
  await call('set', 'id', data);
  assert.equal((await call('get', 'id')).user, 'u');
  await call('touch', 'id', data);
  assert.equal(await call('length'), 1);
  assert.deepEqual(await call('ids'), ['id']);
  assert.equal((await call('all')).length, 1);
  await call('destroy', 'id');
  assert.equal(await call('get', 'id'), undefined);
  await call('clear');
  await client.close();
  console.log('connect-redis');
})().catch((e) => { console.error(e); process.exit(1); });
