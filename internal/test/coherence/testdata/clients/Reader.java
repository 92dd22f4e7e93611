import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.Scanner;

/** Reads keys at random through a client-side cache, and prints what it saw as package coherence wants it. */
public class Reader {
  /** A client of Redis with copies of its own. */
  interface Client {
    String get(String key) throws Exception;

    /** Asks the server by the connection whose messages end copies. */
    void ping() throws Exception;

    /** How many gets were answered by a copy. */
    long hits();
  }

  /** Answers of a key that followed each other and were the same, from the same source. */
  static class Run {
    String value;
    int hit;
    long reads;
    long[] first, last;
  }

  static final Map<Integer, Run> runs = new HashMap<>();
  static volatile boolean ended;

  static synchronized void say(String line) {
    System.out.println(line);
  }

  static long now() {
    return System.nanoTime(); // CLOCK_MONOTONIC, as all readers
  }

  static void listen() {
    for (Scanner in = new Scanner(System.in); in.hasNextLine(); in.nextLine()) {
      say("clock " + now());
    }
    ended = true;
  }

  static void note(int key, String value, int hit, long... moment) {
    Run run = runs.get(key);
    if (run == null || !run.value.equals(value) || run.hit != hit) {
      flush(key);
      run = new Run();
      run.value = value;
      run.hit = hit;
      run.first = moment;
      runs.put(key, run);
    }
    run.reads++;
    run.last = moment;
  }

  static void flush(int key) {
    Run run = runs.remove(key);
    if (run != null) {
      say("read " + key + " " + run.value + " " + run.hit + " " + run.reads + moment(run.first) + moment(run.last));
    }
  }

  static String moment(long[] times) {
    return " " + times[0] + " " + times[1] + " " + times[2];
  }

  static Client connect(String name, String address, int database) {
    return switch (name) {
      case "jedis" -> new JedisClient(address, database);
      case "lettuce" -> new LettuceClient(address, database);
      case "lettuce-guarded" -> new LettuceClient(address, database, new LettuceClient.GuardedCopies());
      default -> throw new IllegalArgumentException(name);
    };
  }

  public static void main(String[] args) throws Exception {
    int database = Integer.parseInt(args[2]), keys = Integer.parseInt(args[3]);
    new Thread(Reader::listen).start();
    Client client = connect(args[0], args[1], database);
    Random random = new Random();
    long fence = 0, failed = 0;
    while (!ended) {
      long sent = now();
      try {
        client.ping();
        fence = sent;
      } catch (Exception e) {
        Thread.sleep(5);
      }
      for (int i = 0; i < 64; i++) {
        int mine = random.nextBoolean() ? (keys - database + 1) / 2 : 4;
        int key = database + 2 * random.nextInt(mine);
        long hits = client.hits(), begin = now();
        try {
          String value = client.get(String.format("key-%04d", key));
          note(key, value == null ? "0" : value, client.hits() > hits ? 1 : 0, begin, now(), fence);
        } catch (Exception e) {
          failed++;
        }
      }
      Thread.sleep(2);
    }
    for (int key : runs.keySet().toArray(new Integer[0])) flush(key);
    say("end " + client.hits() + " " + failed);
    System.exit(0); // threads of the clients would keep the process alive
  }
}
