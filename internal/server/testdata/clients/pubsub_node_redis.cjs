// node-redis subscribers, in RESP2 and RESP3: listeners, patterns, shard channels, and the subscriptions after a reconnection.
const assert = require('node:assert');
const { createClient } = require('redis');
const { addresses, until, sql } = require('./waiting.cjs');

async function connect(address, RESP) {
  const client = createClient({ url: 'redis://' + address + '/2', RESP });
  client.on('error', () => {}); // of the connection that is killed below
  return client.connect();
}

async function subscriber(RESP, other) {
  const redis = await connect(addresses.one, RESP);
  const publisher = await connect(other, RESP);
  const sub = await connect(addresses.one, RESP);
  const messages = [];
  const listener = (message, channel) => messages.push([channel, message]);
  const second = (message, channel) => messages.push(['second', channel, message]);
  const arrive = async (...want) => {
    await until(() => messages.length >= want.length, JSON.stringify(want));
    assert.deepEqual(messages.splice(0).map(String).sort(), want.map(String).sort());
  };

  await sub.subscribe(['node:a', 'node:b'], listener);
  await sub.subscribe('node:a', second);
  await sub.pSubscribe('node:[bc]', listener);
  await sub.sSubscribe('node:shard', listener);
  await publisher.publish('node:a', 'hello');
  await arrive(['node:a', 'hello'], ['second', 'node:a', 'hello']);
  await publisher.publish('node:b', 'both');
  await arrive(['node:b', 'both'], ['node:b', 'both']);
  await publisher.sPublish('node:shard', 'to the shard');
  await arrive(['node:shard', 'to the shard']);
  assert.deepEqual((await redis.pubSubChannels('node:*')).sort(), ['node:a', 'node:b']);
  assert.deepEqual({ ...await redis.pubSubNumSub(['node:a', 'none']) }, { 'node:a': 1, none: 0 });
  assert.equal(await redis.pubSubNumPat(), 1);
  assert.deepEqual(await redis.pubSubShardChannels(), ['node:shard']);
  if (RESP === 3) assert.equal(await sub.set('k', 'v'), 'OK'); // a subscriber may send any command

  const buffers = [];
  await sub.subscribe('node:buffers', (message) => buffers.push(message), true);
  const sent = Array.from({ length: 500 }, (_, i) => Buffer.from([0, 255, i >> 8, i & 255]));
  await Promise.all(sent.map((message) => publisher.publish('node:buffers', message)));
  await until(() => buffers.length === 500, '500 messages');
  assert.deepEqual(buffers, sent);

  const reconnected = new Promise((ready) => sub.once('ready', ready));
  const [{ id }] = (await redis.clientList({ TYPE: 'PUBSUB' })).filter((c) => c.psub === 1);
  assert.equal(await redis.clientKill({ filter: 'ID', id }), 1);
  await reconnected;
  await until(async () => await redis.pubSubNumPat() === 1 && (await redis.pubSubChannels('node:*')).length === 3
    && (await redis.pubSubShardChannels()).length === 1, 'the subscriptions after a reconnection');
  await publisher.publish('node:a', 'again');
  await arrive(['node:a', 'again'], ['second', 'node:a', 'again']);

  await sub.unsubscribe('node:a', second);
  await publisher.publish('node:a', 'one');
  await arrive(['node:a', 'one']);
  if (sql("SELECT howdah.publish_text('node:a', 'from psql')")) await arrive(['node:a', 'from psql']);
  await sub.sUnsubscribe('node:shard');
  await sub.pUnsubscribe('node:[bc]');
  await sub.unsubscribe(['node:a', 'node:b', 'node:buffers']); // without names node-redis waits for ever
  assert.deepEqual(await redis.pubSubChannels('node:*'), []);
  assert.equal(await sub.set('k', 'v'), 'OK');

  const blocked = await connect(addresses.one, RESP);
  await redis.del(['list', 'scores']);
  const popped = blocked.blPop('list', 0);
  await redis.rPush('list', 'x');
  assert.deepEqual({ ...await popped }, { key: 'list', element: 'x' });
  const scored = blocked.bzPopMax('scores', 0);
  await publisher.zAdd('scores', { score: 1.5, value: 'm' });
  assert.deepEqual({ ...await scored }, { key: 'scores', value: 'm', score: 1.5 });
  assert.equal(await blocked.blPop('list', 0.05), null);
  for (const client of [redis, publisher, sub, blocked]) await client.close();
}

(async () => {
  for (const RESP of [2, 3]) for (const other of [addresses.one, addresses.other]) await subscriber(RESP, other);
  console.log('pub/sub of node-redis');
})().catch((e) => { console.error(e); process.exit(1); });
