import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TrackingArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.CacheFrontend;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Lettuce as its documentation shows it, over a map. */
class LettuceClient implements Reader.Client {
  /** Keeps the copies. One thread reads; those of Lettuce end copies. */
  static class Copies implements CacheAccessor<String, String> {
    final Map<String, String> values = new HashMap<>();
    long hits;

    @Override
    public synchronized String get(String key) {
      String value = values.get(key);
      if (value != null) hits++;
      return value;
    }

    @Override
    public synchronized void put(String key, String value) {
      values.put(key, value);
    }

    @Override
    public synchronized void evict(String key) {
      values.remove(key);
    }
  }

  /**
   * Mends what Lettuce 6.5.5 leaves out: it keeps an answer that was ended before it was put, drops nothing when it is told
   * to drop everything or loses the connection, and does not turn tracking on again.
   */
  static class GuardedCopies extends Copies implements RedisConnectionStateListener {
    final Set<String> asked = new HashSet<>(); // keys that were asked for and not ended since
    boolean tracked;

    @Override
    public synchronized String get(String key) {
      String value = super.get(key);
      if (value == null && tracked) asked.add(key);
      return value;
    }

    @Override
    public synchronized void put(String key, String value) {
      if (asked.remove(key)) super.put(key, value);
    }

    @Override
    public synchronized void evict(String key) {
      asked.remove(key);
      super.evict(key);
    }

    synchronized void drop(boolean nowTracked) {
      tracked = nowTracked;
      asked.clear();
      values.clear();
    }

    @Override
    public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
      drop(false);
    }

    @Override
    public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress address) {
      if (connection instanceof StatefulRedisConnection<?, ?> again) track(again);
    }

    /** Must come before ClientSideCaching, whose listener throws when all is to be dropped, so that no other one is called. */
    void guard(RedisClient client, StatefulRedisConnection<String, String> connection) {
      connection.addListener(message -> {
        if (message.getType().equals("invalidate") && message.getContent(StringCodec.UTF8::decodeKey).get(1) == null) drop(true);
      });
      client.addListener(this);
      track(connection);
    }

    void track(StatefulRedisConnection<?, ?> connection) {
      connection.async().clientTracking(TrackingArgs.Builder.enabled()).thenAccept(ok -> drop(true));
    }
  }

  final Copies copies;
  final RedisClient client;
  final StatefulRedisConnection<String, String> connection;
  final CacheFrontend<String, String> frontend;

  LettuceClient(String address, int database) {
    this(address, database, new Copies());
  }

  LettuceClient(String address, int database, Copies copies) {
    this.copies = copies;
    client = RedisClient.create(RedisURI.create("redis://" + address + "/" + database));
    connection = client.connect();
    if (copies instanceof GuardedCopies guarded) guarded.guard(client, connection);
    frontend = ClientSideCaching.enable(copies, connection, TrackingArgs.Builder.enabled());
  }

  @Override
  public String get(String key) {
    return frontend.get(key);
  }

  @Override
  public void ping() {
    connection.sync().ping();
  }

  @Override
  public long hits() {
    return copies.hits;
  }
}
