<?php
// Laravel's Redis cache with its locks and tags, and Symfony's cache with tags, over phpredis.
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';
require 'Symfony/Component/Cache/autoload.php';

use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Redis\RedisManager;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Cache\Adapter\RedisTagAwareAdapter;

function check(bool $right, string $what): void
{
    if (!$right) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

[$host, $port] = explode(':', getenv('REDIS_ADDR'));
$manager = new RedisManager(null, 'phpredis', ['default' => ['host' => $host, 'port' => (int) $port, 'database' => 2]]);
$manager->connection()->flushdb();
$store = new RedisStore($manager, 'app');
$cache = new Repository($store);

check($cache->put('k', ['a' => 1], 60) && $cache->get('k') === ['a' => 1], 'put');
check($cache->add('new', 1, 60) && !$cache->add('new', 2, 60), 'add');
check($cache->putMany(['x' => 1, 'y' => 2], 60) && $cache->many(['x', 'z']) == ['x' => 1, 'z' => null], 'many');
check($cache->increment('count', 3) == 3 && $cache->remember('made', 60, fn () => 7) === 7, 'increment, remember');
$lock = $store->lock('report', 60);
check($lock->get() && !$store->lock('report', 60)->get(), 'a lock was taken twice');
check(!$store->lock('report', 60)->release(), 'the lock of another was released');
check($store->restoreLock('report', $lock->owner())->release() && $store->lock('report', 60)->get(), 'release');
$cache->tags(['people', 'authors'])->put('anne', 1, 60);
$cache->tags('people')->put('jane', 2, 60);
check($cache->tags(['people', 'authors'])->get('anne') == 1, 'tagged');
$cache->tags('authors')->flush();
check($cache->tags(['people', 'authors'])->get('anne') === null && $cache->tags('people')->get('jane') == 2, 'flush of a tag');
$connection = $manager->connection();
$ran = 0;
for ($i = 0; $i < 5; $i++) {
    $connection->throttle('throttle')->block(0)->allow(3)->every(600)->then(function () use (&$ran) { $ran++; }, fn () => null);
}
check($ran === 3, "throttle let $ran run");
$connection->funnel('funnel')->limit(1)->block(0)->then(function () use ($connection, &$ran) {
    $connection->funnel('funnel')->limit(1)->block(0)->then(fn () => check(false, 'funnel'), function () use (&$ran) { $ran++; });
});
check($ran === 4, 'the funnel has a limit');
check($cache->flush() && $cache->get('k') === null, 'flush');
echo "Illuminate Cache and Redis 8.83\n";

$redis = new Redis();
$redis->connect($host, (int) $port);
$redis->select(2);
foreach (['plain' => new RedisAdapter($redis, 'plain'), 'tags' => new RedisTagAwareAdapter($redis, 'tags')] as $name => $pool) {
    check($pool->get('k', fn () => ['a' => 1]) === ['a' => 1] && $pool->getItem('k')->isHit(), "$name: get");
    check($pool->deleteItem('k') && !$pool->hasItem('k'), "$name: delete");
}
foreach (['one' => ['odd', 'all'], 'two' => ['even', 'all'], 'three' => ['odd', 'all']] as $key => $tags) {
    $pool->get($key, function ($item) use ($key, $tags) { $item->tag($tags)->expiresAfter(600); return $key; });
}
check($pool->invalidateTags(['odd']), 'invalidateTags');
check(!$pool->hasItem('one') && !$pool->hasItem('three') && $pool->getItem('two')->get() === 'two', 'tags');
check($pool->deleteItem('two') && !$pool->hasItem('two'), 'delete of a tagged item');
$pool->get('four', function ($item) { $item->tag('all'); return 4; });
check($pool->invalidateTags(['all']) && !$pool->hasItem('four') && $pool->clear(), 'invalidateTags of all');
echo "Symfony Cache 5.4\n";
