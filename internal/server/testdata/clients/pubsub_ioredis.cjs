// ioredis subscribers: channels, patterns, shard channels, buffers, and the subscriptions after a reconnection.
const assert = require('node:assert');
const Redis = require('ioredis');
const { addresses, until, sql } = require('./waiting.cjs');

async function subscriber(one, other) {
  // ioredis takes the end of its shard channels for the end of all subscriptions: they have a connection of their own.
  const [redis, publisher, sub, shards] = [one, other, one, one].map((address) => new Redis('redis://' + address + '/1'));
  const messages = [];
  const ids = await Promise.all([sub, shards].map((client) => client.client('ID')));
  sub.on('message', (channel, message) => messages.push([channel, message]));
  sub.on('pmessage', (pattern, channel, message) => messages.push([pattern, channel, message]));
  shards.on('smessage', (channel, message) => messages.push(['shard', channel, message]));
  const arrive = async (...want) => {
    await until(() => messages.length >= want.length, JSON.stringify(want));
    assert.deepEqual(messages.splice(0).map(String).sort(), want.map(String).sort());
  };

  assert.equal(await sub.subscribe('io:a', 'io:b'), 2);
  assert.equal(await sub.psubscribe('io:?', 'x*'), 4);
  assert.equal(await shards.ssubscribe('io:shard'), 1);
  await publisher.publish('io:a', 'hello');
  await arrive(['io:a', 'hello'], ['io:?', 'io:a', 'hello']);
  await publisher.spublish('io:shard', 'to the shard');
  await arrive(['shard', 'io:shard', 'to the shard']);
  await publisher.multi().publish('x1', '1').publish('none', '0').publish('x2', '2').exec();
  await arrive(['x*', 'x1', '1'], ['x*', 'x2', '2']);
  await publisher.eval("return redis.call('PUBLISH', 'x3', ARGV[1])", 0, 'by a script');
  await arrive(['x*', 'x3', 'by a script']);

  // Order, and nothing lost.
  const numbers = [];
  const binary = Buffer.from([0, 255, 13, 10]);
  sub.on('messageBuffer', (channel, message) => numbers.push(message));
  await Promise.all(Array.from({ length: 1000 }, (_, i) => publisher.publish('io:b', String(i))));
  await publisher.publish('io:b', binary);
  await until(() => numbers.length === 1001, '1001 messages');
  assert.deepEqual(numbers.map(String).slice(0, 1000), Array.from({ length: 1000 }, (_, i) => String(i)));
  assert.deepEqual(numbers[1000], binary);
  await until(() => messages.length === 2002, 'each message, by channel and by pattern');
  messages.length = 0;

  // A connection that was killed comes back, and subscribes again.
  const reconnected = Promise.all([sub, shards].map((client) => new Promise((ready) => client.once('ready', ready))));
  for (const id of ids) assert.equal(await redis.client('KILL', 'ID', id), 1);
  await reconnected;
  await until(async () => (await redis.pubsub('NUMPAT')) === 2 && (await redis.pubsub('NUMSUB', 'io:a', 'io:b')).join() === 'io:a,1,io:b,1'
    && (await redis.pubsub('SHARDCHANNELS')).join() === 'io:shard', 'the subscriptions after a reconnection');
  await publisher.publish('io:b', 'again');
  await arrive(['io:b', 'again'], ['io:?', 'io:b', 'again']);
  await publisher.spublish('io:shard', 'again');
  await arrive(['shard', 'io:shard', 'again']);

  assert.equal(await sub.unsubscribe('io:a'), 3);
  assert.equal(await sub.punsubscribe('io:?', 'x*'), 1);
  assert.equal(await shards.sunsubscribe('io:shard'), 0);
  await publisher.publish('io:a', 'nobody');
  await publisher.publish('io:b', 'one');
  await arrive(['io:b', 'one']);
  if (sql("SELECT howdah.publish_text('io:b', 'from psql')")) await arrive(['io:b', 'from psql']);
  await assert.rejects(sub.get('k'), /subscriber mode/);
  assert.equal(await sub.unsubscribe('io:b'), 0);
  assert.equal(await sub.set('k', 'v'), 'OK');

  // Blocking commands on a connection of their own.
  const blocked = new Redis('redis://' + one + '/1');
  await redis.del('list', 'scores');
  const popped = blocked.blpop('list', 0);
  await redis.rpush('list', 'x');
  assert.deepEqual(await popped, ['list', 'x']);
  const scored = blocked.bzpopmin('scores', 0);
  await publisher.zadd('scores', 1.5, 'm');
  assert.deepEqual(await scored, ['scores', 'm', '1.5']);
  assert.equal(await blocked.blpop('list', 0.05), null);
  for (const client of [redis, publisher, sub, shards, blocked]) client.disconnect();
}

(async () => {
  await subscriber(addresses.one, addresses.one);
  await subscriber(addresses.one, addresses.other);
  console.log('pub/sub of ioredis');
})().catch((e) => { console.error(e); process.exit(1); });
