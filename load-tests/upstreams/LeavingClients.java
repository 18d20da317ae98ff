import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Concurrent clients of a gateway in a closed loop. A third of the requests are for a long response
 * whose client leaves at a random moment: of a whole response within a second, of a stream soon
 * after its first bytes. The other clients wait for a short response.
 *
 * <p>Each request has a connection of its own. After a refusal or an error its client waits for a
 * short time. Confined to one event loop.
 */
final class LeavingClients {
  private static final int MIN_WORK_MS = 50;
  private static final int WORK_RANGE_MS = 250;
  private static final int LONG_WORK_MS = 15_000;
  private static final int LEAVES_WITHIN_MS = 1_000;
  private static final int LEAVES_STREAM_WITHIN_MS = 300; // after its first bytes
  private static final int RETRY_MS = 50;

  /**
   * Figures of a run.
   *
   * @param complete responses that were read to their end
   * @param workMs of these responses
   * @param refused responses 429 and 503
   * @param failed other statuses and broken connections, by kind
   * @param leftAt nano times at which clients left, by request
   */
  record Figures(
      int complete,
      long workMs,
      int refused,
      Map<String, Integer> failed,
      Map<String, Long> leftAt) {}

  private final Vertx vertx;
  private final NetClient net;
  private final int port;
  private final String key;
  private final Random random;
  private final List<NetSocket> open = new ArrayList<>();
  private final Map<String, Long> leftAt = new HashMap<>();
  private final Map<String, Integer> failed = new TreeMap<>();
  private boolean ended;
  private int complete;
  private int refused;
  private long workMs;
  private int requests;

  LeavingClients(Vertx vertx, int port, String key, long seed) {
    this.vertx = vertx;
    this.net = vertx.createNetClient();
    this.port = port;
    this.key = key;
    this.random = new Random(seed);
  }

  void begin(int clients) {
    for (int i = 0; i < clients; i++) {
      next();
    }
  }

  /** Ends the measurement: all clients leave. */
  Figures leave() {
    ended = true;
    List.copyOf(open).forEach(NetSocket::close);
    return new Figures(complete, workMs, refused, failed, Map.copyOf(leftAt));
  }

  private void next() {
    if (ended) {
      return;
    }
    boolean leaves = random.nextInt(3) == 0;
    boolean stream = random.nextBoolean();
    int work = leaves ? LONG_WORK_MS : MIN_WORK_MS + random.nextInt(WORK_RANGE_MS);
    int leavesAfter = 1 + random.nextInt(stream ? LEAVES_STREAM_WITHIN_MS : LEAVES_WITHIN_MS);
    String id = "r" + ++requests;
    net.connect(port, "127.0.0.1")
        .onSuccess(socket -> new Exchange(socket, id, work, leaves ? leavesAfter : 0).send(stream))
        .onFailure(refusal -> fail("no connection"));
  }

  private void later() {
    vertx.setTimer(RETRY_MS + random.nextInt(RETRY_MS), timer -> next());
  }

  private void fail(String kind) {
    if (!ended) {
      failed.merge(kind, 1, Integer::sum);
      later();
    }
  }

  /** Request of a client, from its start to its response or its departure. */
  private final class Exchange {
    private final NetSocket socket;
    private final String id;
    private final int work;
    private final int leavesAfter; // milliseconds, or 0 for a client that stays
    private boolean stream;
    private final AnswerReader reader = new AnswerReader();
    private boolean begun; // a response
    private boolean over;

    Exchange(NetSocket socket, String id, int work, int leavesAfter) {
      this.socket = socket;
      this.id = id;
      this.work = work;
      this.leavesAfter = leavesAfter;
    }

    void send(boolean asStream) {
      stream = asStream;
      open.add(socket);
      socket.handler(this::read);
      socket.closeHandler(closed -> end("closed by the gateway"));
      socket.exceptionHandler(broken -> end("reset by the gateway"));
      if (ended) {
        socket.close();
        return;
      }
      String body =
          """
          {"model":"m","stream":%b,"messages":[{"role":"user","content":"%s %d"}]}"""
              .formatted(stream, id, work);
      String head =
          """
          POST /v1/chat/completions HTTP/1.1\r
          Host: 127.0.0.1:%d\r
          Authorization: Bearer %s\r
          Content-Type: application/json\r
          Content-Length: %d\r
          \r
          """
              .formatted(port, key, body.length());
      socket.write(head + body);
      if (!stream) {
        leave();
      }
    }

    /** Leaves after the time of this request, if its client does not stay. */
    private void leave() {
      if (leavesAfter > 0) {
        vertx.setTimer(
            leavesAfter,
            timer -> {
              if (!over && !ended) {
                leftAt.put(id, System.nanoTime());
                finish();
                next();
              }
            });
      }
    }

    private void read(Buffer buffer) {
      byte[] bytes = buffer.getBytes();
      if (stream && !begun) {
        begun = true;
        leave();
      }
      try {
        if (!over && reader.take(bytes, bytes.length)) {
          finish();
          respond(reader.status());
        }
      } catch (IOException malformed) {
        end(malformed.getMessage());
      }
    }

    private void respond(int status) {
      if (ended) {
        return;
      }
      if (status == 200) {
        complete++;
        workMs += work;
        next();
      } else if (status == 429 || status == 503) {
        refused++;
        later();
      } else {
        fail("status " + status);
      }
    }

    private void end(String kind) {
      if (!over) {
        finish();
        fail(kind);
      }
    }

    private void finish() {
      over = true;
      open.remove(socket);
      socket.close();
    }
  }
}
