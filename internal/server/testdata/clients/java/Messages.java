import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.TrackingArgs;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.api.options.LocalCachedMapOptions;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.PatternTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.data.redis.serializer.RedisSerializer;
import org.springframework.session.FindByIndexNameSessionRepository;
import org.springframework.session.Session;
import org.springframework.session.data.redis.RedisIndexedSessionRepository;
import org.springframework.session.data.redis.config.ConfigureNotifyKeyspaceEventsAction;
import org.springframework.session.events.AbstractSessionEvent;
import org.springframework.session.events.SessionCreatedEvent;
import org.springframework.session.events.SessionDeletedEvent;
import org.springframework.session.events.SessionExpiredEvent;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.exceptions.JedisException;

/** Messages, keyspace events, locks that wait and client-side caches, in groups that an argument names. */
public class Messages {
  static final String ONE = System.getenv("REDIS_ADDR");
  static final String OTHER = System.getenv().getOrDefault("OTHER_ADDR", ONE); // on the same database
  static final String NEWER = System.getenv("NEWER_ADDR"); // on the same database too; it says version 7.4.0

  public static void main(String[] args) {
    try {
      run(args[0]);
    } catch (Throwable e) { // threads of the clients would keep the process alive
      e.printStackTrace();
      System.exit(1);
    }
    System.out.println(args[0]);
    System.exit(0);
  }

  static void run(String group) throws Exception {
    switch (group) {
      case "spring" -> {
        springListeners();
        springSessions();
      }
      case "redisson" -> redisson();
      case "lettuce" -> lettuceCache();
      case "jedis" -> {
        jedis();
        if (NEWER != null) jedisCache();
      }
      default -> throw new IllegalArgumentException(group);
    }
  }

  static LettuceConnectionFactory connections(String address, int database) {
    String[] addr = address.split(":");
    RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(addr[0], Integer.parseInt(addr[1]));
    server.setDatabase(database);
    LettuceConnectionFactory connections = new LettuceConnectionFactory(server);
    connections.afterPropertiesSet();
    connections.start();
    return connections;
  }

  static RedisMessageListenerContainer container(LettuceConnectionFactory connections) {
    RedisMessageListenerContainer container = new RedisMessageListenerContainer();
    container.setConnectionFactory(connections);
    container.afterPropertiesSet();
    container.start();
    return container;
  }

  static void springListeners() throws Exception {
    LettuceConnectionFactory connections = connections(ONE, 8), others = connections(OTHER, 8);
    RedisMessageListenerContainer container = container(connections);
    BlockingQueue<String> got = new LinkedBlockingQueue<>();
    container.addMessageListener((message, pattern) -> got.add("channel " + message), new ChannelTopic("orders"));
    container.addMessageListener((message, pattern) -> got.add(new String(pattern) + " " + message), new PatternTopic("stock:*"));
    StringRedisTemplate publisher = new StringRedisTemplate(others);
    publisher.convertAndSend("orders", "one");
    equal(got.poll(30, TimeUnit.SECONDS), "channel one");
    publisher.convertAndSend("stock:1", "two");
    equal(got.poll(30, TimeUnit.SECONDS), "stock:* two");
    container.stop();
    connections.destroy();
    others.destroy();
  }

  /** The indexed repository as @EnableRedisIndexedHttpSession wires it. */
  static void springSessions() throws Exception {
    LettuceConnectionFactory connections = connections(ONE, 9), others = connections(OTHER, 9);
    connections.getConnection().serverCommands().flushDb();
    new ConfigureNotifyKeyspaceEventsAction().configure(connections.getConnection());
    String wanted = connections.getConnection().serverCommands().getConfig("notify-keyspace-events").getProperty("notify-keyspace-events");
    check(!wanted.isEmpty(), "notify-keyspace-events is not set");
    until(() -> wanted.equals(others.getConnection().serverCommands().getConfig("notify-keyspace-events").getProperty("notify-keyspace-events")),
        "the setting on the other server");
    BlockingQueue<AbstractSessionEvent> events = new LinkedBlockingQueue<>();
    RedisIndexedSessionRepository sessions = repository(connections);
    sessions.setApplicationEventPublisher(event -> events.add((AbstractSessionEvent) event));
    RedisMessageListenerContainer container = container(connections);
    container.addMessageListener(sessions, List.of(new ChannelTopic(sessions.getSessionDeletedChannel()), new ChannelTopic(sessions.getSessionExpiredChannel())));
    container.addMessageListener(sessions, List.of(new PatternTopic(sessions.getSessionCreatedChannelPrefix() + "*")));
    RedisIndexedSessionRepository elsewhere = repository(others);

    String logout = save(elsewhere, Duration.ofMinutes(10));
    event(events, SessionCreatedEvent.class, logout);
    equal(sessions.findByPrincipalName("maria").keySet(), java.util.Set.of(logout));
    elsewhere.deleteById(logout);
    event(events, SessionDeletedEvent.class, logout);
    equal(sessions.findByPrincipalName("maria"), Map.of());

    String idle = save(elsewhere, Duration.ofSeconds(1));
    event(events, SessionCreatedEvent.class, idle);
    event(events, SessionExpiredEvent.class, idle);
    check(sessions.findById(idle) == null, "a session that has expired");
    equal(sessions.findByPrincipalName("maria"), Map.of());
    check(events.isEmpty(), "more events: " + events);
    container.stop();
    connections.destroy();
    others.destroy();
  }

  static RedisIndexedSessionRepository repository(LettuceConnectionFactory connections) {
    RedisTemplate<String, Object> template = new RedisTemplate<>();
    template.setConnectionFactory(connections);
    template.setKeySerializer(RedisSerializer.string());
    template.setHashKeySerializer(RedisSerializer.string());
    template.afterPropertiesSet();
    RedisIndexedSessionRepository sessions = new RedisIndexedSessionRepository(template);
    sessions.setDatabase(9);
    sessions.afterPropertiesSet();
    return sessions;
  }

  static String save(RedisIndexedSessionRepository repository, Duration idle) {
    return save((FindByIndexNameSessionRepository<? extends Session>) repository, idle);
  }

  static <S extends Session> String save(FindByIndexNameSessionRepository<S> sessions, Duration idle) {
    S session = sessions.createSession();
    session.setMaxInactiveInterval(idle);
    session.setAttribute(FindByIndexNameSessionRepository.PRINCIPAL_NAME_INDEX_NAME, "maria");
    sessions.save(session);
    return session.getId();
  }

  static void event(BlockingQueue<AbstractSessionEvent> events, Class<?> kind, String id) throws Exception {
    AbstractSessionEvent event = events.poll(60, TimeUnit.SECONDS);
    check(event != null, "no " + kind.getSimpleName() + " came");
    equal(event.getClass(), kind);
    equal(event.getSessionId(), id);
  }

  static RedissonClient redisson(String address) {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://" + address).setDatabase(10);
    return Redisson.create(config);
  }

  static void redisson() throws Exception {
    RedissonClient one = redisson(ONE), other = redisson(OTHER);
    ExecutorService threads = Executors.newCachedThreadPool();
    one.getKeys().flushdb();

    // A client that waits for a lock is woken when it is released, long before its lease of 30 s ends.
    for (String name : List.of("lock", "fair")) {
      var held = name.equals("fair") ? one.getFairLock(name) : one.getLock(name);
      var wanted = name.equals("fair") ? other.getFairLock(name) : other.getLock(name);
      check(held.tryLock() && held.tryLock(), "a lock that is taken twice");
      check(!threads.submit(() -> wanted.tryLock()).get(), "the lock of another was taken");
      Future<Boolean> waiting = threads.submit(() -> {
        wanted.lock();
        boolean mine = wanted.isHeldByCurrentThread();
        wanted.unlock();
        return mine;
      });
      until(() -> subscribed("redisson_lock__channel*" + name + "*"), "a client that waits for the lock");
      held.unlock();
      check(held.isLocked() && !waiting.isDone(), "a lock that is still held");
      held.unlock();
      check(waiting.get(15, TimeUnit.SECONDS), "the lock was not handed over");
      check(!held.isLocked(), "the lock is still held");
    }

    var semaphore = one.getSemaphore("semaphore");
    check(semaphore.trySetPermits(0), "permits");
    Future<?> permit = threads.submit(() -> { other.getSemaphore("semaphore").acquire(); return null; });
    until(() -> subscribed("redisson_sc*semaphore*"), "a client that waits for a permit");
    semaphore.release();
    permit.get(15, TimeUnit.SECONDS);
    var latch = one.getCountDownLatch("latch");
    check(latch.trySetCount(1), "latch");
    Future<Boolean> opened = threads.submit(() -> other.getCountDownLatch("latch").await(60, TimeUnit.SECONDS));
    until(() -> subscribed("redisson_countdownlatch*latch*"), "a client that waits for the latch");
    latch.countDown();
    check(opened.get(15, TimeUnit.SECONDS), "the latch did not open");

    BlockingQueue<String> got = new LinkedBlockingQueue<>();
    one.getTopic("topic").addListener(String.class, (channel, message) -> got.add(channel + " " + message));
    one.getPatternTopic("top*").addListener(String.class, (pattern, channel, message) -> got.add(pattern + " " + message));
    other.getTopic("topic").publish("hello");
    equal(java.util.Set.of(got.poll(30, TimeUnit.SECONDS), got.poll(30, TimeUnit.SECONDS)), java.util.Set.of("topic hello", "top* hello"));
    one.getTopic("topic").removeAllListeners();
    one.getShardedTopic("shard").addListener(String.class, (channel, message) -> got.add(channel + " " + message));
    other.getShardedTopic("shard").publish("hello");
    equal(got.poll(30, TimeUnit.SECONDS), "shard hello");

    Future<String> taken = threads.submit(() -> one.<String>getBlockingQueue("queue").take());
    other.getBlockingQueue("queue").put("x");
    equal(taken.get(30, TimeUnit.SECONDS), "x");
    check(one.getBlockingQueue("queue").poll(50, TimeUnit.MILLISECONDS) == null, "a timeout");
    Future<String> last = threads.submit(() -> one.<String>getBlockingDeque("deque").takeLast());
    other.getBlockingDeque("deque").putFirst("y");
    equal(last.get(30, TimeUnit.SECONDS), "y");
    Future<String> least = threads.submit(() -> one.<String>getScoredSortedSet("scores").pollFirst(30, TimeUnit.SECONDS));
    other.getScoredSortedSet("scores").add(1, "z");
    equal(least.get(30, TimeUnit.SECONDS), "z");

    // A map with entries in memory hears of writes of the other client by a topic.
    LocalCachedMapOptions<String, String> options = LocalCachedMapOptions.name("near");
    var near = one.getLocalCachedMap(options);
    var far = other.getLocalCachedMap(options);
    far.fastPut("k", "1");
    equal(near.get("k"), "1");
    far.fastPut("k", "2");
    until(() -> "2".equals(near.get("k")), "the new value");
    threads.shutdownNow();
    one.shutdown();
    other.shutdown();
  }

  /** Whether a client of either server has subscribed to a channel that matches. */
  static boolean subscribed(String pattern) {
    for (String address : List.of(ONE, OTHER)) {
      try (Jedis jedis = new Jedis(HostAndPort.from(address))) {
        if (!jedis.pubsubChannels(pattern).isEmpty()) return true;
      }
    }
    return false;
  }

  static void lettuceCache() throws Exception {
    for (String writerAddress : List.of(ONE, OTHER)) {
      RedisClient client = RedisClient.create(RedisURI.create("redis://" + ONE + "/11"));
      RedisClient writerClient = RedisClient.create(RedisURI.create("redis://" + writerAddress + "/11"));
      var writer = writerClient.connect().sync();
      writer.flushdb();
      Map<String, String> kept = new ConcurrentHashMap<>();
      var connection = client.connect();
      var cache = ClientSideCaching.enable(CacheAccessor.forMap(kept), connection, TrackingArgs.Builder.enabled());
      writer.set("k", "1");
      until(() -> "1".equals(cache.get("k")), "the first value");
      check("1".equals(kept.get("k")), "the value is not kept in memory");
      invalidated(() -> cache.get("k"), () -> writer.set("k", "2"), () -> writer.incr("k"), () -> sql("SELECT howdah.set_text('db11', 'k', '4')"));
      writer.del("k");
      until(() -> cache.get("k") == null, "the end of an entry");
      client.shutdown();
      writerClient.shutdown();
    }
  }

  /** Writes from elsewhere, which make k 2, 3, and 4 in SQL, must be seen. */
  static void invalidated(Callable<String> read, Runnable two, Runnable three, Callable<Boolean> four) throws Exception {
    read.call();
    two.run();
    until(() -> "2".equals(read.call()), "the value after SET");
    three.run();
    until(() -> "3".equals(read.call()), "the value after INCR");
    if (four.call()) until(() -> "4".equals(read.call()), "the value after howdah.set_text");
  }

  static void jedis() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (Jedis sub = new Jedis(HostAndPort.from(ONE), DefaultJedisClientConfig.builder().socketTimeoutMillis(60000).build()); Jedis publisher = new Jedis(HostAndPort.from(OTHER))) {
      BlockingQueue<String> got = new LinkedBlockingQueue<>();
      CountDownLatch ready = new CountDownLatch(2);
      var listener = new redis.clients.jedis.JedisPubSub() {
        @Override public void onSubscribe(String channel, int n) { ready.countDown(); }
        @Override public void onMessage(String channel, String message) { got.add(channel + " " + message); }
      };
      Future<?> ended = threads.submit(() -> sub.subscribe(listener, "jedis:a", "jedis:b"));
      check(ready.await(30, TimeUnit.SECONDS), "the subscriptions");
      publisher.publish("jedis:b", "hello");
      equal(got.poll(30, TimeUnit.SECONDS), "jedis:b hello");
      listener.unsubscribe();
      ended.get(30, TimeUnit.SECONDS);
      publisher.select(12);
      sub.select(12);
      publisher.del("list");
      Future<List<String>> popped = threads.submit(() -> sub.blpop(30, "none", "list"));
      publisher.rpush("list", "x");
      equal(popped.get(30, TimeUnit.SECONDS), List.of("list", "x"));
    }
    threads.shutdownNow();
  }

  /** Jedis's cache refuses a server that says a version below 7.4, and works with one that says 7.4. */
  static void jedisCache() throws Exception {
    var config = DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP3).database(11).build();
    var cache = CacheConfig.builder().maxSize(100).build();
    try (JedisPooled refused = new JedisPooled(HostAndPort.from(ONE), config, cache)) {
      refused.get("jedis");
      throw new AssertionError("Jedis takes an older server");
    } catch (JedisException e) {
      String reasons = e.toString() + e.getCause();
      check(reasons.contains("7.4"), reasons);
    }
    try (JedisPooled cached = new JedisPooled(HostAndPort.from(NEWER), config, cache); Jedis writer = new Jedis(HostAndPort.from(ONE))) {
      writer.select(11);
      writer.set("jedis", "1");
      until(() -> "1".equals(cached.get("jedis")), "the first value");
      until(() -> {
        long hits = cached.getCache().getStats().getHitCount();
        return "1".equals(cached.get("jedis")) && cached.getCache().getStats().getHitCount() > hits;
      }, "a read from memory");
      invalidated(() -> cached.get("jedis"), () -> writer.set("jedis", "2"), () -> writer.incr("jedis"), () -> sql("SELECT howdah.set_text('db11', 'jedis', '4')"));
    }
  }

  /** Runs a statement with psql; false where there is no PostgreSQL behind the server. */
  static boolean sql(String statement) throws Exception {
    String url = System.getenv("DATABASE_URL");
    if (url == null) return false;
    Process psql = new ProcessBuilder("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, url).redirectErrorStream(true).start();
    String output = new String(psql.getInputStream().readAllBytes());
    check(psql.waitFor() == 0, output);
    return true;
  }

  static void until(Callable<Boolean> condition, String what) throws Exception {
    for (long end = System.nanoTime() + 30_000_000_000L; !condition.call(); Thread.sleep(5)) {
      check(System.nanoTime() < end, "waited 30 s for: " + what);
    }
  }

  static void equal(Object got, Object want) {
    check(want.equals(got), "got " + got + ", not " + want);
  }

  static void check(boolean right, String what) {
    if (!right) throw new AssertionError(what);
  }
}
