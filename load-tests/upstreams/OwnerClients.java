import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

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

  /** End of a request. */
  private record Event(long nanos, int node, String kind) {}

  private final Vertx vertx;
  private final NetClient net;
  private final OwnerNodes nodes;
  private final Random random;
  private final boolean leave;
  private final List<Event> events = new ArrayList<>(); // guarded by this
  private volatile boolean ended;
  private int requests;

  OwnerClients(Vertx vertx, OwnerNodes nodes, long seed, boolean leave) {
    this.vertx = vertx;
    this.net = vertx.createNetClient();
    this.nodes = nodes;
    this.random = new Random(seed);
    this.leave = leave;
  }

  /** Starts clients of a node. */
  void begin(int node, int clients) {
    vertx.runOnContext(
        none -> {
          for (int i = 0; i < clients; i++) {
            next(node);
          }
        });
  }

  /** Opens streams that are not repeated; their ends have the kind {@code stream}. */
  void stream(int node, int count, int millis) {
    vertx.runOnContext(
        none -> {
          for (int i = 0; i < count; i++) {
            connect(new Exchange(node, "stream", millis, true, 10 * millis));
          }
        });
  }

  void end() {
    ended = true;
  }

  private void next(int node) {
    if (!ended) {
      boolean leaves = leave && random.nextInt(3) == 0;
      boolean stream = random.nextBoolean();
      int leavesAfter = 1 + random.nextInt(LEAVES_WITHIN_MS);
      connect(
          new Exchange(
              node,
              RESPONSE,
              leaves ? LEAVER_WORK_MS : WORK_MS,
              stream,
              leaves ? leavesAfter : PATIENCE_MS));
    }
  }

  private void connect(Exchange exchange) {
    net.connect(nodes.httpPort(exchange.node), "127.0.0.1")
        .onSuccess(exchange::send)
        .onFailure(refused -> exchange.end("no connection", true));
  }

  // --- figures ---

  private synchronized void add(int node, String kind) {
    events.add(new Event(System.nanoTime(), node, kind));
  }

  private synchronized List<Event> between(long from, long to, Set<Integer> of) {
    return events.stream()
        .filter(each -> each.nanos - from >= 0 && each.nanos - to <= 0 && of.contains(each.node))
        .sorted(Comparator.comparingLong(Event::nanos))
        .toList();
  }

  double perSecond(long from, long to) {
    long count =
        between(from, to, Set.of(0, 1, 2)).stream().filter(OwnerClients::isResponse).count();
    return count / ((to - from) / 1e9);
  }

  private static boolean isResponse(Event event) {
    return event.kind.equals(RESPONSE);
  }

  /** Returns the longest time without a response of these nodes, in seconds. */
  double gap(long from, long to, Set<Integer> of) {
    long last = from;
    long longest = 0;
    for (Event each : between(from, to, of).stream().filter(OwnerClients::isResponse).toList()) {
      longest = Math.max(longest, each.nanos - last);
      last = each.nanos;
    }
    return Math.max(longest, to - last) / 1e9;
  }

  /** Returns other ends than responses and clients that left, by kind. */
  Map<String, Integer> others(long from, long to, Set<Integer> of) {
    Map<String, Integer> counts = new TreeMap<>();
    between(from, to, of).stream()
        .filter(each -> !isResponse(each) && !each.kind.isEmpty())
        .forEach(each -> counts.merge(each.kind, 1, Integer::sum));
    return counts;
  }

  /** One request. */
  private final class Exchange {
    final int node;
    private final String kind;
    private final int work;
    private final boolean stream;
    private final int leavesAfter;
    private final AnswerReader reader = new AnswerReader();
    private boolean over;

    Exchange(int node, String kind, int work, boolean stream, int leavesAfter) {
      this.node = node;
      this.kind = kind;
      this.work = work;
      this.stream = stream;
      this.leavesAfter = leavesAfter;
    }

    void send(NetSocket socket) {
      socket.handler(bytes -> read(bytes, socket));
      socket.closeHandler(closed -> end("closed", true));
      socket.exceptionHandler(broken -> end("closed", true));
      String body =
          """
          {"stream":%b,"messages":[{"content":"r%d %d"}]}"""
              .formatted(stream, ++requests, work);
      String head =
          "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
              .formatted(body.length());
      socket.write(head + body);
      vertx.setTimer(
          leavesAfter,
          timer -> {
            end(work == LEAVER_WORK_MS ? "" : "no response", false);
            socket.close();
          });
    }

    private void read(Buffer buffer, NetSocket socket) {
      byte[] bytes = buffer.getBytes();
      try {
        if (!over && reader.take(bytes, bytes.length)) {
          boolean complete = reader.status() == 200;
          end(complete ? kind : String.valueOf(reader.status()), !complete);
          socket.close();
        }
      } catch (IOException malformed) {
        end("malformed", true);
      }
    }

    void end(String outcome, boolean waits) {
      if (over) {
        return;
      }
      over = true;
      boolean held = kind.equals("stream");
      add(node, held && !outcome.equals(kind) ? "stream " + outcome : outcome);
      if (held) {
        return;
      }
      if (waits) {
        vertx.setTimer(RETRY_MS + random.nextInt(RETRY_MS), timer -> next(node));
      } else {
        next(node);
      }
    }
  }
}
