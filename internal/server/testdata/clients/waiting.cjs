// What the scripts about messages share: where the servers are, and how to wait for a condition.
const { execFileSync } = require('node:child_process');
const { setTimeout: pause } = require('node:timers/promises');

// OTHER_ADDR is another server on the same database; plain Redis has none, and stands for it.
const addresses = { one: process.env.REDIS_ADDR, other: process.env.OTHER_ADDR || process.env.REDIS_ADDR };

// until waits for condition() to be true, and returns its value.
async function until(condition, what, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${seconds} s for: ${what}`);
    await pause(5);
  }
}

// sql runs a statement with psql; it returns false where there is no PostgreSQL behind the server.
function sql(statement) {
  if (!process.env.DATABASE_URL) return false;
  execFileSync('psql', ['-X', '-q', '-o', '/dev/null', '-v', 'ON_ERROR_STOP=1', '-c', statement, process.env.DATABASE_URL], { stdio: ['ignore', 'ignore', 'inherit'] });
  return true;
}

module.exports = { addresses, until, sql };
