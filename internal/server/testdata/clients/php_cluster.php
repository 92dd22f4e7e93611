<?php
// RedisCluster of phpredis, against a server with --redis-cluster.
$address = getenv('CLUSTER_ADDR');
$cluster = new RedisCluster(null, [$address]);

function check($holds, $what) {
    if (!$holds) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

[$host, $port] = explode(':', $address);
check($cluster->_masters() == [[$host, (int)$port]], 'masters: ' . json_encode($cluster->_masters()));
for ($i = 0; $i < 200; $i++) {
    check($cluster->setex("php:$i", 60, $i), "set $i");
}
for ($i = 0; $i < 200; $i++) {
    check($cluster->get("php:$i") == $i, "get $i");
}
// phpredis itself splits the keys of several slots.
check($cluster->mset(['pa' => 1, 'pb' => 2]) && $cluster->mget(['pa', 'pb', 'none']) == ['1', '2', false], 'mget');
check($cluster->del('pa', 'pb') == 2, 'del');
$cluster->multi();
$cluster->set('{p}a', 1);
$cluster->incr('{p}a');
check($cluster->exec() == [true, 2], 'exec');
check($cluster->eval("return redis.call('INCRBY', KEYS[1], ARGV[1])", ['pn', 5], 1) == 5, 'eval');
check($cluster->del('pn') == 1, 'del of one');
check($cluster->publish('nobody', 'm') == 0, 'publish');
check($cluster->ping([$host, (int)$port]), 'ping');
echo "phpredis, RedisCluster\n";
