// Bull and Bee-Queue: jobs, delayed jobs, retries, progress and results between a worker's and a producer's connections.
const assert = require('node:assert');
const Bull = require('bull');
const Bee = require('bee-queue');
const Redis = require('ioredis');
const { addresses, until } = require('./waiting.cjs');

async function bull(redis) {
  const producer = new Bull('bull', 'redis://' + addresses.other + '/4');
  const worker = new Bull('bull', 'redis://' + addresses.one + '/4');
  const done = [];
  producer.on('global:completed', (id, result) => done.push(JSON.parse(result)));
  producer.setMaxListeners(100);
  await until(async () => (await redis.pubsub('CHANNELS', '*bull:completed*')).length === 1, 'the subscription to events');
  worker.process(4, async (job) => {
    if (job.data.fails && job.attemptsMade < job.data.fails) throw new Error('not yet');
    await job.progress(50);
    return job.data.n * 2;
  });
  const jobs = await producer.addBulk(Array.from({ length: 50 }, (_, n) => ({ data: { n } })));
  assert.deepEqual((await Promise.all(jobs.map((job) => job.finished()))), Array.from({ length: 50 }, (_, n) => n * 2));
  await until(() => done.length === 50, `events of 50 jobs`);
  const began = Date.now();
  assert.equal(await (await producer.add({ n: 21 }, { delay: 300 })).finished(), 42);
  assert.ok(Date.now() - began >= 300, 'a delayed job ran too early');
  const retried = await producer.add({ n: 1, fails: 2 }, { attempts: 3 });
  assert.equal(await retried.finished(), 2);
  assert.equal((await producer.getJob(retried.id)).attemptsMade, 2);
  await assert.rejects((await producer.add({ n: 1, fails: 9 })).finished(), /not yet/);
  const counts = await producer.getJobCounts();
  assert.deepEqual(counts, { waiting: 0, active: 0, completed: 52, failed: 1, delayed: 0, paused: 0 });
  await producer.pause();
  const urgent = [await producer.add({ n: 5 }), await producer.add({ n: 6 }, { priority: 1 })];
  assert.equal((await producer.getJobCounts()).paused, 2);
  await producer.resume();
  assert.deepEqual(await Promise.all(urgent.map((job) => job.finished())), [10, 12]);
  await producer.obliterate({ force: true });
  await worker.close();
  await producer.close();
}

async function bee() {
  const producer = new Bee('bee', { redis: 'redis://' + addresses.other + '/4', isWorker: false });
  const worker = new Bee('bee', { redis: 'redis://' + addresses.one + '/4', activateDelayedJobs: true });
  worker.process(3, async (job) => {
    job.reportProgress({ at: 1 });
    if (job.data.fails && job.options.retries > 0) throw new Error('not yet');
    return job.data.n * 2;
  });
  const finish = (job) => new Promise((resolve, reject) => job.on('succeeded', resolve).on('failed', reject));
  const results = await Promise.all(Array.from({ length: 30 }, async (_, n) => {
    const job = producer.createJob({ n });
    const finished = finish(job);
    await job.save();
    return finished;
  }));
  assert.deepEqual(results, Array.from({ length: 30 }, (_, n) => n * 2));
  const delayed = producer.createJob({ n: 4 }).delayUntil(Date.now() + 200);
  const later = finish(delayed);
  await delayed.save();
  assert.equal(await later, 8);
  const health = await producer.checkHealth();
  assert.equal(health.waiting + health.active + health.failed + health.delayed, 0);
  await worker.destroy();
  await worker.close();
  await producer.close();
}

(async () => {
  const redis = new Redis('redis://' + addresses.other + '/4');
  await redis.flushdb();
  await bull(redis);
  await bee();
  redis.disconnect();
  console.log('Bull, Bee-Queue');
  process.exit(0);
})().catch((e) => { console.error(e); process.exit(1); });
