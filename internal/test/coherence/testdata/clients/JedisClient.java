import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.csc.DefaultCache;

class JedisClient implements Reader.Client {
  /** Jedis wants a server that says version 7.4 or later, unless its cache says that it does not. */
  static class Cache extends DefaultCache {
    Cache() {
      super(10000);
    }

    @Override
    public boolean compatibilityMode() {
      return true;
    }
  }

  final Cache cache = new Cache();
  final JedisPooled client; // one thread has one connection

  JedisClient(String address, int database) {
    var config = DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP3).database(database).build();
    client = new JedisPooled(HostAndPort.from(address), config, cache);
  }

  @Override
  public String get(String key) {
    return client.get(key);
  }

  @Override
  public void ping() {
    client.ping();
  }

  @Override
  public long hits() {
    return cache.getStats().getHitCount();
  }
}
