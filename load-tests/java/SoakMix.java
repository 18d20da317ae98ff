import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the soak's clients ask for, drawn at random with a seed: most of it goes well, some handlers
 * fail, some requests run out of time, some clients die.
 */
final class SoakMix {
  /** A kind of request, its share, and what became of those that were sent. */
  static final class Kind {
    final PacedRequest request;
    final double share;
    final AtomicLong right = new AtomicLong();
    final AtomicLong wrong = new AtomicLong();
    volatile int lastWrongStatus;

    Kind(PacedRequest request, double share) {
      this.request = request;
      this.share = share;
    }
  }

  private final List<Kind> kinds = new ArrayList<>();
  private final SplittableRandom random;
  private double shares;

  SoakMix(String host, long seed) {
    random = new SplittableRandom(seed);
    // What goes well.
    add(60, get("plain, ok", host, "/plain/ok", 200));
    add(5, get("plain, 5 ms", host, "/plain/slow", 200));
    PacedRequest upload = PacedRequest.post("upload", host, "/plain/upload", 32 * 1024, 200);
    add(2, upload);
    add(5, get("blocking, ok", host, "/blocking/ok", 200));
    PacedRequest stream = get("stream", host, "/streams/whole", 200);
    add(3, stream);
    add(8, get("choose + dispatch", host, "/choosing/ok", 200));
    add(1, get("choose + close", host, "/choosing/close", 200));
    add(8, get("composition", host, "/composed/ok", 200));
    // Handlers that fail.
    add(0.3, get("thrown", host, "/plain/throw", 500));
    add(0.3, get("failed future", host, "/plain/fail", 500));
    add(0.2, get("thrown by a thread", host, "/blocking/throw", 500));
    add(0.2, get("failed stream", host, "/streams/fail", PacedRequest.CUT));
    add(0.2, get("child failed", host, "/composed/fail", 500));
    add(0.1, get("child's time-out", host, "/composed/timeout", 408));
    add(
        0.1,
        PacedRequest.get("time-out", host, "/plain/never", 408, "x-request-timeout-seconds: 0.2"));
    // Reservations that end by themselves.
    add(0.1, get("choose, abandon", host, "/choosing/abandon", 200));
    add(0.05, get("choose, dispatch too late", host, "/choosing/late", 503));
    // Clients that die.
    add(0.3, upload.killedAfterSending("killed in its upload", 16 * 1024));
    add(0.3, get("", host, "/plain/slow", 200).killedAfterReading("killed while it waited", 0));
    add(0.1, get("", host, "/plain/never", 200).killedAfterReading("killed at what never ends", 0));
    add(0.5, stream.killedAfterReading("killed in its stream", 900));
  }

  private static PacedRequest get(String name, String host, String path, int expected) {
    return PacedRequest.get(name, host, path, expected);
  }

  private void add(double share, PacedRequest request) {
    kinds.add(new Kind(request, share));
    shares += share;
  }

  List<Kind> kinds() {
    return kinds;
  }

  /** The next request. */
  PacedRequest next() {
    double at = random.nextDouble() * shares;
    for (Kind kind : kinds) {
      at -= kind.share;
      if (at < 0) {
        return kind.request;
      }
    }
    return kinds.get(0).request;
  }

  /** Counts an answer; a status of 0 is a connection that its client reset. */
  void answered(PacedRequest request, int status) {
    for (Kind kind : kinds) {
      if (kind.request == request) {
        if (request.isKilled() || status == request.expected()) {
          kind.right.incrementAndGet();
        } else {
          kind.wrong.incrementAndGet();
          kind.lastWrongStatus = status;
        }
      }
    }
  }
}
