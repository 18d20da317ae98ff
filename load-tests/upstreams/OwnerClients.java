import io.vertx.core.Vertx;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;

/**
 * Concurrent clients of nodes in a closed loop. Each request has a connection of its own. A third
 * of the clients may leave at random moments. Requests are sent on one event loop.
 */
final class OwnerClients {
  private static final int WORK_MS = 100;
  private static final int LEAVER_WORK_MS = 1_000;
  private static final int LEAVES_WITHIN_MS = 300;
  private static final int PATIENCE_MS = 10_000;
  private static final int RETRY_MS = 50;
  private static final String RESPONSE = "response";
  private static final String STREAM = "stream";
  private static final String LEFT = "left";

  /** End of a request. */
  private record Event(long nanos, int node, String kind) {}

  private final Vertx vertx;
  private final NetClient net;
  private final OwnerNodes nodes;
  private final Random random;
  private final boolean leave;
  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private volatile boolean ended;
  private int requests;

  OwnerClients(Vertx vertx, OwnerNodes nodes, long seed, boolean leave) {
    this.vertx = vertx;
    this.net = vertx.createNetClient();
    this.nodes = nodes;
    this.random = new Random(seed);
    this.leave = leave;
  }

  void begin(int node) {
    vertx.runOnContext(none -> next(node));
  }

  /** Opens a stream that is not repeated. */
  void stream(int node, int millis) {
    vertx.runOnContext(none -> new Exchange(node, STREAM, millis, 10 * millis).connect());
  }

  void end() {
    ended = true;
  }

  private void next(int node) {
    if (!ended) {
      boolean leaves = leave && random.nextInt(3) == 0;
      int leavesAfter = leaves ? 1 + random.nextInt(LEAVES_WITHIN_MS) : PATIENCE_MS;
      new Exchange(node, RESPONSE, leaves ? LEAVER_WORK_MS : WORK_MS, leavesAfter).connect();
    }
  }

  // --- figures ---

  private Stream<Event> between(long from, long to, Set<Integer> of) {
    return events.stream()
        .filter(each -> each.nanos - from >= 0 && each.nanos - to <= 0 && of.contains(each.node));
  }

  double perSecond(long from, long to) {
    return between(from, to, Set.of(0, 1, 2)).filter(each -> each.kind.equals(RESPONSE)).count()
        / ((to - from) / 1e9);
  }

  /** Returns the longest time without a response of these nodes, in seconds. */
  double gap(long from, long to, Set<Integer> of) {
    long last = from;
    long longest = 0;
    for (Event each : between(from, to, of).toList()) {
      if (each.kind.equals(RESPONSE)) {
        longest = Math.max(longest, each.nanos - last);
        last = each.nanos;
      }
    }
    return Math.max(longest, to - last) / 1e9;
  }

  /** Returns the number of ends other than responses and clients that left, by kind. */
  Map<String, Integer> others(long from, long to, Set<Integer> of) {
    Map<String, Integer> counts = new TreeMap<>();
    between(from, to, of).forEach(each -> counts.merge(each.kind, 1, Integer::sum));
    counts.keySet().removeAll(Set.of(RESPONSE, LEFT));
    return counts;
  }

  /** Request of a client, from its start to its response or its departure. */
  private final class Exchange {
    private final int node;
    private final String kind;
    private final int work;
    private final int leavesAfter;
    private final AnswerReader reader = new AnswerReader();
    private boolean over;

    Exchange(int node, String kind, int work, int leavesAfter) {
      this.node = node;
      this.kind = kind;
      this.work = work;
      this.leavesAfter = leavesAfter;
    }

    void connect() {
      net.connect(nodes.httpPort(node), "127.0.0.1")
          .onSuccess(this::send)
          .onFailure(refused -> end("no connection"));
    }

    private void send(NetSocket socket) {
      socket.handler(buffer -> read(buffer.getBytes(), socket));
      socket.closeHandler(closed -> end("closed"));
      socket.exceptionHandler(broken -> end("closed"));
      boolean stream = kind.equals(STREAM) || random.nextBoolean();
      String body =
          "{\"stream\":%b,\"messages\":[{\"content\":\"r%d %d\"}]}"
              .formatted(stream, ++requests, work);
      String head = "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n";
      socket.write(head.formatted(body.length()) + body);
      vertx.setTimer(
          leavesAfter,
          timer -> {
            end(work == LEAVER_WORK_MS ? LEFT : "no response");
            socket.close();
          });
    }

    private void read(byte[] bytes, NetSocket socket) {
      try {
        if (!over && reader.take(bytes, bytes.length)) {
          end(reader.status() == 200 ? kind : String.valueOf(reader.status()));
          socket.close();
        }
      } catch (IOException malformed) {
        end("malformed");
      }
    }

    private void end(String outcome) {
      if (over) {
        return;
      }
      over = true;
      boolean held = kind.equals(STREAM);
      String full = held && !outcome.equals(STREAM) ? STREAM + " " + outcome : outcome;
      events.add(new Event(System.nanoTime(), node, full));
      if (!held && (outcome.equals(RESPONSE) || outcome.equals(LEFT))) {
        next(node);
      } else if (!held) {
        vertx.setTimer(RETRY_MS + random.nextInt(RETRY_MS), timer -> next(node));
      }
    }
  }
}
