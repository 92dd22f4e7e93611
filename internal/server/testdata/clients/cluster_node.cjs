// The cluster clients of ioredis and node-redis with default settings, against a server with --redis-cluster.
const assert = require('node:assert');
const Redis = require('ioredis');
const { createCluster } = require('redis');

const address = process.env.CLUSTER_ADDR;
const [host, port] = [address.slice(0, address.lastIndexOf(':')), Number(address.slice(address.lastIndexOf(':') + 1))];
const keys = (prefix) => Array.from({ length: 200 }, (_, i) => prefix + i);

async function ioredis() {
  const cluster = new Redis.Cluster([{ host, port }]);
  await cluster.flushdb();
  await Promise.all(keys('io:').map((key, i) => cluster.set(key, i, 'EX', 60)));
  assert.deepEqual(await Promise.all(keys('io:').map((key) => cluster.get(key))), keys('').map(String));
  assert.deepEqual(cluster.nodes('master').map((node) => [node.options.host, node.options.port]), [[host, port]]);

  // A pipeline over many slots of one node, and a transaction in one slot.
  const pipeline = cluster.pipeline();
  keys('io:').forEach((key) => pipeline.incr(key));
  assert.deepEqual((await pipeline.exec()).map(([error, value]) => value), keys('').map((i) => Number(i) + 1));
  assert.deepEqual(await cluster.multi().set('{x}a', 1).incr('{x}a').exec(), [[null, 'OK'], [null, 2]]);
  // Keys of several slots in one command: ioredis sends them, and the server answers.
  assert.equal(await cluster.mset('a', 1, 'b', 2), 'OK');
  assert.deepEqual(await cluster.mget('a', 'b', 'none'), ['1', '2', null]);
  assert.equal(await cluster.del('a', 'b'), 2);
  cluster.defineCommand('add', { numberOfKeys: 1, lua: "return redis.call('INCRBY', KEYS[1], ARGV[1])" });
  assert.equal(await cluster.add('n', 5), 5);
  assert.equal(await cluster.add('n', 5), 10);
  const found = [];
  for await (const batch of cluster.nodes('master')[0].scanStream({ match: 'io:*' })) found.push(...batch);
  assert.equal(new Set(found).size, 200);

  const subscriber = new Redis.Cluster([{ host, port }]);
  await subscriber.subscribe('news');
  const message = new Promise((resolve) => subscriber.on('message', (channel, text) => resolve([channel, text])));
  await cluster.publish('news', 'hello');
  assert.deepEqual(await message, ['news', 'hello']);
  const shards = new Redis.Cluster([{ host, port }], { shardedSubscribers: true });
  await new Promise((resolve) => shards.once('ready', resolve));
  await shards.ssubscribe('news');
  const sharded = new Promise((resolve) => shards.on('smessage', (channel, text) => resolve([channel, text])));
  await cluster.spublish('news', 'shard');
  assert.deepEqual(await sharded, ['news', 'shard']);
  for (const client of [cluster, subscriber, shards]) client.disconnect();
}

async function nodeRedis() {
  const cluster = createCluster({ rootNodes: [{ url: 'redis://' + address }] });
  cluster.on('error', (e) => { throw e; });
  await cluster.connect();
  assert.deepEqual(cluster.masters.map((node) => node.address), [address]);
  await Promise.all(keys('nr:').map((key, i) => cluster.set(key, String(i), { EX: 60 })));
  assert.deepEqual(await Promise.all(keys('nr:').map((key) => cluster.get(key))), keys('').map(String));
  assert.deepEqual(await cluster.multi().set('{y}a', '1').incr('{y}a').exec(), ['OK', 2]);
  // Keys of several slots in one command: node-redis sends them by the first, and the server answers.
  assert.equal(await cluster.mSet({ a: '1', b: '2' }), 'OK');
  assert.deepEqual(await cluster.mGet(['a', 'b', 'none']), ['1', '2', null]);
  assert.equal(await cluster.eval("return redis.call('INCRBY', KEYS[1], ARGV[1])", { keys: ['m'], arguments: ['5'] }), 5);
  assert.equal(await cluster.hSet('h', { f: 'v' }), 1);

  for (const [subscribe, publish] of [['subscribe', 'publish'], ['sSubscribe', 'sPublish']]) {
    let take;
    const taken = new Promise((resolve) => { take = resolve; });
    await cluster[subscribe]('nodes', (text) => take(text));
    await cluster[publish]('nodes', publish);
    assert.equal(await taken, publish);
  }
  cluster.destroy();
}

(async () => {
  await ioredis();
  await nodeRedis();
  console.log('ioredis Cluster, node-redis createCluster');
})().catch((e) => { console.error(e); process.exit(1); });
