import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.cluster.pubsub.RedisClusterPubSubAdapter;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RBatch;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import redis.clients.jedis.ClusterPipeline;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;

/** The cluster clients of Jedis, Lettuce, Redisson and Spring Data Redis, against a server with --redis-cluster. */
public class Clusters {
  static final String ADDRESS = System.getenv("CLUSTER_ADDR");
  static final String HOST = ADDRESS.substring(0, ADDRESS.lastIndexOf(':'));
  static final int PORT = Integer.parseInt(ADDRESS.substring(HOST.length() + 1));
  static final int KEYS = 200;

  public static void main(String[] args) {
    try {
      jedis();
      lettuce();
      redisson();
      spring();
    } catch (Throwable e) { // threads of the clients would keep the process alive
      e.printStackTrace();
      System.exit(1);
    }
    System.out.println("Jedis, Lettuce, Redisson and Spring Data Redis as clients of a cluster");
    System.exit(0);
  }

  static void jedis() {
    try (JedisCluster cluster = new JedisCluster(new HostAndPort(HOST, PORT))) {
      check(cluster.getClusterNodes().keySet().equals(Set.of(ADDRESS)), cluster.getClusterNodes());
      try (ClusterPipeline pipeline = cluster.pipelined()) { // over many slots
        for (int i = 0; i < KEYS; i++) {
          pipeline.setex("jedis:" + i, 60, String.valueOf(i));
        }
        pipeline.sync();
      }
      for (int i = 0; i < KEYS; i++) {
        check(cluster.get("jedis:" + i).equals(String.valueOf(i)), i);
      }
      cluster.mset("{j}a", "1", "{j}b", "2");
      check(cluster.mget("{j}a", "{j}b").equals(List.of("1", "2")), "mget");
      check(cluster.eval("return redis.call('INCRBY', KEYS[1], ARGV[1])", List.of("{j}a"), List.of("5")).equals(6L), "eval");
      check(cluster.rpush("{j}l", "v") == 1 && cluster.blpop(5, "{j}l").equals(List.of("{j}l", "v")), "blpop");
      check(cluster.spublish("nobody", "m") == 0, "spublish");
    }
  }

  static void lettuce() throws Exception {
    RedisClusterClient client = RedisClusterClient.create(RedisURI.create(HOST, PORT));
    try (StatefulRedisClusterPubSubConnection<String, String> subscriber = client.connectPubSub()) {
      client.refreshPartitions();
      check(client.getPartitions().size() == 1, client.getPartitions());
      RedisClusterNode node = client.getPartitions().getPartition(0);
      check(node.getUri().getHost().equals(HOST) && node.getUri().getPort() == PORT && node.getSlots().size() == SlotHash.SLOT_COUNT, node);
      RedisAdvancedClusterCommands<String, String> commands = client.connect().sync();
      check(commands.clusterMyId().equals(node.getNodeId()), "the names of the node differ");
      check(commands.clusterKeyslot("{a}b") == SlotHash.getSlot("{a}b"), "keyslot");
      Map<String, String> many = new HashMap<>();
      for (int i = 0; i < KEYS; i++) {
        many.put("lettuce:" + i, String.valueOf(i));
      }
      check(commands.mset(many).equals("OK"), "mset"); // Lettuce itself splits it by slots
      check(commands.mget(many.keySet().toArray(new String[0])).stream().allMatch(entry -> entry.getValue().equals(many.get(entry.getKey()))), "mget");
      check(commands.del(many.keySet().toArray(new String[0])) == KEYS, "del");
      check(commands.dbsize() > 0, "dbsize");

      BlockingQueue<String> taken = new LinkedBlockingQueue<>();
      subscriber.addListener(new RedisClusterPubSubAdapter<String, String>() {
        @Override public void message(RedisClusterNode from, String channel, String message) { taken.add(channel + " " + message); }
        @Override public void smessage(RedisClusterNode from, String channel, String message) { taken.add("shard " + channel + " " + message); }
      });
      subscriber.setNodeMessagePropagation(true);
      subscriber.sync().subscribe("news");
      subscriber.sync().ssubscribe("news");
      commands.publish("news", "hello");
      check("news hello".equals(taken.poll(30, TimeUnit.SECONDS)), "message");
      commands.spublish("news", "shard");
      check("shard news shard".equals(taken.poll(30, TimeUnit.SECONDS)), "smessage");
    } finally {
      client.shutdown();
    }
  }

  static void redisson() throws Exception {
    Config config = new Config();
    config.useClusterServers().addNodeAddress("redis://" + ADDRESS);
    RedissonClient client = Redisson.create(config);
    RBatch batch = client.createBatch();
    for (int i = 0; i < KEYS; i++) {
      batch.getBucket("redisson:" + i).setAsync(i, Duration.ofMinutes(1));
    }
    batch.execute();
    for (int i = 0; i < KEYS; i++) {
      check(client.<Integer>getBucket("redisson:" + i).get() == i, i);
    }
    check(client.getMap("redisson-map").fastPut("k", "v"), "map");
    RLock lock = client.getLock("redisson-lock");
    check(lock.tryLock(10, 10, TimeUnit.SECONDS), "lock");
    lock.unlock();
    BlockingQueue<String> taken = new LinkedBlockingQueue<>();
    client.getTopic("redisson-topic").addListener(String.class, (channel, message) -> taken.add(message));
    client.getTopic("redisson-topic").publish("hello");
    check("hello".equals(taken.poll(30, TimeUnit.SECONDS)), "topic");
    client.shutdown();
  }

  static void spring() {
    LettuceConnectionFactory connections = new LettuceConnectionFactory(new RedisClusterConfiguration(List.of(ADDRESS)));
    connections.afterPropertiesSet();
    connections.start();
    StringRedisTemplate template = new StringRedisTemplate(connections);
    for (int i = 0; i < KEYS; i++) {
      template.opsForValue().set("spring:" + i, String.valueOf(i), Duration.ofMinutes(1));
    }
    check(template.opsForValue().multiGet(List.of("spring:1", "spring:2", "none")).subList(0, 2).equals(List.of("1", "2")), "multiGet");
    check(template.keys("spring:*").size() == KEYS, "keys");
    check(template.opsForHash().putIfAbsent("spring-hash", "f", "v"), "hash");
    connections.destroy();
  }

  static void check(boolean holds, Object what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
