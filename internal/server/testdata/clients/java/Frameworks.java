import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.redisson.Redisson;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.data.redis.serializer.RedisSerializer;
import org.springframework.session.Session;
import org.springframework.session.SessionRepository;
import org.springframework.session.data.redis.RedisSessionRepository;

/** Spring Session, Spring Data Redis and Redisson with default settings. */
public class Frameworks {
  public static void main(String[] args) throws Exception {
    String[] addr = System.getenv("REDIS_ADDR").split(":");
    RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(addr[0], Integer.parseInt(addr[1]));
    server.setDatabase(14);
    LettuceConnectionFactory connections = new LettuceConnectionFactory(server);
    connections.afterPropertiesSet();
    connections.start();
    connections.getConnection().serverCommands().flushDb();
    springData(connections);
    RedisTemplate<String, Object> template = template(connections);
    springSession(new RedisSessionRepository(template), template);
    connections.destroy();
    redisson("redis://" + System.getenv("REDIS_ADDR"));
    System.out.println("Spring Session, Spring Data Redis, Redisson");
  }

  static void springData(LettuceConnectionFactory connections) {
    StringRedisTemplate redis = new StringRedisTemplate(connections);
    redis.opsForHash().putAll("h", Map.of("a", "1", "b", "2"));
    check(redis.opsForHash().entries("h").equals(Map.of("a", "1", "b", "2")), "hash");
    check(redis.opsForHash().increment("h", "a", 4) == 5, "increment in a hash");
    redis.opsForList().rightPushAll("l", "x", "y");
    check("x".equals(redis.opsForList().leftPop("l")), "list");
    redis.opsForSet().add("s", "x", "y");
    check(redis.opsForSet().members("s").equals(Set.of("x", "y")), "set");
    redis.opsForZSet().add("z", "one", 1);
    check(redis.opsForZSet().score("z", "one") == 1, "sorted set");
    Long n = redis.execute(RedisScript.of("return redis.call('INCRBY', KEYS[1], ARGV[1])", Long.class), List.of("n"), "7");
    check(n == 7, "script");
  }

  static RedisTemplate<String, Object> template(LettuceConnectionFactory connections) {
    RedisTemplate<String, Object> template = new RedisTemplate<>();
    template.setConnectionFactory(connections);
    template.setKeySerializer(RedisSerializer.string());
    template.setHashKeySerializer(RedisSerializer.string());
    template.afterPropertiesSet();
    return template;
  }

  static <S extends Session> void springSession(SessionRepository<S> sessions, RedisTemplate<String, Object> template) {
    S session = sessions.createSession();
    session.setAttribute("user", "u");
    session.setMaxInactiveInterval(Duration.ofMinutes(10));
    sessions.save(session);
    S found = sessions.findById(session.getId());
    check("u".equals(found.getAttribute("user")), "attribute");
    found.removeAttribute("user");
    found.setAttribute("cart", "3");
    String before = found.getId();
    String id = found.changeSessionId();
    sessions.save(found);
    check(sessions.findById(before) == null, "the former identifier");
    found = sessions.findById(id);
    check(found.getAttribute("user") == null && "3".equals(found.getAttribute("cart")), "changed attributes");
    check(found.getMaxInactiveInterval().equals(Duration.ofMinutes(10)), "interval");
    check(template.getExpire("spring:session:sessions:" + id) > 0, "TTL");
    sessions.deleteById(id);
    check(sessions.findById(id) == null, "a session that was deleted");
  }

  static void redisson(String address) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress(address).setDatabase(15);
    var client = Redisson.create(config);
    try {
      client.getKeys().flushdb();
      var bucket = client.<String>getBucket("bucket");
      bucket.set("v", Duration.ofMinutes(1));
      check("v".equals(bucket.get()) && bucket.remainTimeToLive() > 0, "bucket");
      check(bucket.compareAndSet("v", "w") && !bucket.compareAndSet("v", "x"), "compareAndSet");
      check("w".equals(bucket.getAndDelete()), "getAndDelete");
      var map = client.<String, Integer>getMap("map");
      check(map.put("a", 1) == null && map.put("a", 2) == 1 && map.fastRemove("a") == 1, "map");
      var set = client.<String>getSet("set");
      check(set.add("x") && !set.add("x") && set.contains("x"), "set");
      var scores = client.<String>getScoredSortedSet("scores");
      check(scores.add(1.5, "x") && scores.getScore("x") == 1.5 && scores.rank("x") == 0, "sorted set");
      check(client.getAtomicLong("n").addAndGet(5) == 5 && client.getAtomicLong("n").compareAndSet(5, 6), "atomic");
    } finally {
      client.shutdown();
    }
  }

  static void check(boolean right, String what) {
    if (!right) throw new AssertionError(what);
  }
}
