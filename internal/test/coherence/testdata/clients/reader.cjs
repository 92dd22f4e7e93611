// Reads keys at random through node-redis's clientSideCache, and prints what it saw as package coherence wants it.
const readline = require('node:readline');
const { setTimeout: pause } = require('node:timers/promises');
const { createClient, BasicClientSideCache } = require('redis');

const [address, database, keys] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const now = () => process.hrtime.bigint(); // CLOCK_MONOTONIC, as all readers
const say = (...words) => process.stdout.write(words.join(' ') + '\n');

let ended = false;
readline.createInterface({ input: process.stdin }).on('line', () => say('clock', now())).on('close', () => { ended = true; });

const runs = new Map(); // key -> value, hit, reads, first and last moment
function note(key, value, hit, moment) {
  const run = runs.get(key);
  if (run && run.value === value && run.hit === hit) {
    run.reads++;
    run.last = moment;
  } else {
    flush(key);
    runs.set(key, { value, hit, reads: 1, first: moment, last: moment });
  }
}
function flush(key) {
  const run = runs.get(key);
  if (run) say('read', key, run.value, run.hit, run.reads, ...run.first, ...run.last);
  runs.delete(key);
}

// When it is told to drop everything, or loses the connection, node-redis 5.12.1 keeps what has been asked for and not been
// taken in yet. If the answer and the message come together, that is a copy which is never ended.
class Cache extends BasicClientSideCache {
  clear(resetStats) {
    for (const [, entry] of this.entryEntries()) entry.invalidate();
    super.clear(resetStats);
  }
}

(async () => {
  const cache = new Cache({ ttl: 0, maxEntries: 0, evictPolicy: 'LRU' });
  const client = createClient({ url: `redis://${address}/${database}`, RESP: 3, clientSideCache: cache });
  client.on('error', () => {}); // it connects again by itself
  await client.connect();
  const mine = [];
  for (let key = database; key < keys; key += 2) mine.push(key);
  let fence = 0n, failed = 0, hits = 0, counted = 0;
  const hitCount = () => cache.stats().hitCount;
  while (!ended) {
    const sent = now();
    try {
      await client.ping(); // and the messages of the server come in
      fence = sent;
    } catch {
      await pause(5);
    }
    for (let i = 0; i < 64; i++) {
      const key = mine[Math.floor(Math.random() * (Math.random() < 0.5 ? mine.length : 4))];
      counted = hitCount();
      const begin = now();
      try {
        const value = await client.get('key-' + String(key).padStart(4, '0'));
        const hit = hitCount() > counted ? 1 : 0;
        hits += hit;
        note(key, value ?? '0', hit, [begin, now(), fence]);
      } catch {
        failed++;
      }
    }
    await pause(2);
  }
  for (const key of [...runs.keys()]) flush(key);
  say('end', hits, failed);
  process.exit(0);
})().catch((e) => { console.error(e); process.exit(1); });
