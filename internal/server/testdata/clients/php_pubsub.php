<?php
// phpredis: subscribe and psubscribe in processes of their own, and blocking pops.
// Called with an argument it is a subscriber, which writes what it gets until it is told to end.
function check(bool $right, string $what): void
{
    if (!$right) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

function connect(string $name): Redis
{
    [$host, $port] = explode(':', getenv($name) ?: getenv('REDIS_ADDR'));
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    $redis->setOption(Redis::OPT_READ_TIMEOUT, 60);
    $redis->select(7);
    return $redis;
}

function until(callable $condition, string $what): void
{
    for ($end = microtime(true) + 30; !$condition(); usleep(5000)) {
        check(microtime(true) < $end, "waited 30 s for: $what");
    }
}

if ($argc > 1) {
    $redis = connect('REDIS_ADDR');
    if ($argv[1] === 'subscribe') {
        $listen = fn () => $redis->subscribe(['php:a', 'php:b'], function (Redis $redis, string $channel, string $message): void {
            echo "$channel $message\n";
            $message === 'end' && $redis->close();
        });
    } elseif ($argv[1] === 'psubscribe') {
        $listen = fn () => $redis->psubscribe(['php:[ab]'], function (Redis $redis, string $pattern, string $channel, string $message): void {
            echo "$pattern $channel $message\n";
            $message === 'end' && $redis->close();
        });
    } else {
        $listen = fn () => print json_encode($redis->{$argv[1]}(['php:list', 'php:other'], 0)) . "\n";
    }
    try {
        $listen();
    } catch (RedisException $e) {
        check($e->getMessage() === 'Connection closed', $e->getMessage()); // by the subscriber itself
    }
    exit(0);
}

/** The processes that run this file in a role, and the ends of their output. */
function spawn(string $role): array
{
    $process = proc_open([PHP_BINARY, __FILE__, $role], [1 => ['pipe', 'w']], $pipes);
    return [$process, $pipes[1]];
}

$redis = connect('REDIS_ADDR');
$publisher = connect('OTHER_ADDR');
$redis->flushDB();
[$channels, $out] = spawn('subscribe');
[$patterns, $matched] = spawn('psubscribe');
until(fn () => $redis->pubsub('numsub', ['php:a', 'php:b']) == ['php:a' => 1, 'php:b' => 1] && $redis->pubsub('numpat') === 1, 'the subscriptions');
for ($i = 0; $i < 100; $i++) {
    $publisher->publish('php:a', (string) $i);
}
$publisher->publish('php:none', 'nobody');
$publisher->publish('php:b', 'end');
$numbers = range(0, 99);
check(stream_get_contents($out) === implode('', array_map(fn ($i) => "php:a $i\n", $numbers)) . "php:b end\n", 'messages to channels');
check(stream_get_contents($matched) === implode('', array_map(fn ($i) => "php:[ab] php:a $i\n", $numbers)) . "php:[ab] php:b end\n", 'messages to a pattern');
check(proc_close($channels) === 0 && proc_close($patterns) === 0, 'a subscriber failed');

foreach (['blPop' => ['php:other', 'php:other'], 'brPop' => ['php:list', 'php:list']] as $command => [$list, $answer]) {
    [$process, $out] = spawn($command);
    until(fn () => $redis->info('clients')['blocked_clients'] >= 1, 'a blocked client');
    $publisher->rPush($list, 'x');
    check(stream_get_contents($out) === json_encode([$answer, 'x']) . "\n", $command);
    check(proc_close($process) === 0, $command);
}
check($redis->blPop(['php:list'], 1) === [], 'a timeout');
check($redis->lLen('php:list') === 0, 'an element was left');
echo 'phpredis ' . phpversion('redis') . " pub/sub\n";
