<?php
// The session handler of phpredis with locking: a request of a session waits until the one before it has ended.
// Called with an argument it is such a request, which adds to a counter in the session.
ini_set('session.save_handler', 'redis');
ini_set('session.save_path', 'tcp://' . getenv('REDIS_ADDR') . '?database=3');
ini_set('redis.session.locking_enabled', '1');
ini_set('redis.session.lock_wait_time', '5000');
ini_set('redis.session.lock_retries', '-1');
ini_set('redis.session.lock_expire', '60');
ini_set('session.use_cookies', '0');
ini_set('session.use_strict_mode', '0');
ini_set('session.cache_limiter', '');

function check(bool $right, string $what): void
{
    if (!$right) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

session_id('session');
if ($argc > 1) {
    for ($i = 0; $i < 5; $i++) {
        check(session_start(), 'session_start');
        $_SESSION['sum'] = ($_SESSION['sum'] ?? 0) + 1;
        check(session_write_close(), 'session_write_close');
    }
    exit(0);
}

[$host, $port] = explode(':', getenv('REDIS_ADDR'));
$redis = new Redis();
$redis->connect($host, (int) $port);
$redis->select(3);
$redis->flushDB();
$requests = [];
for ($i = 0; $i < 4; $i++) {
    $requests[] = proc_open([PHP_BINARY, __FILE__, 'request'], [], $pipes);
}
foreach ($requests as $request) {
    check(proc_close($request) === 0, 'a request failed');
}
session_start();
check($_SESSION['sum'] === 20, "sum {$_SESSION['sum']}: an update was lost");
check($redis->exists('PHPREDIS_SESSION:session_LOCK') === 1, 'the session is not locked');
session_write_close();
check($redis->exists('PHPREDIS_SESSION:session_LOCK') === 0, 'the lock was not released');
session_start();
session_destroy();
check($redis->keys('*') === [], 'keys remain');
echo 'phpredis ' . phpversion('redis') . " sessions with locking\n";
