import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A short time in which a row's connections ask one request after the other. Its begin and its
 * answers belong to the client's event loop.
 */
final class Slice {
  private static final long PATIENCE_SECONDS = 30;

  private final long length;
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private long[] nanos = new long[1 << 12];
  private int answers;
  private int open;
  private long begunAt;
  private long endedAt;

  Slice(long millis) {
    this.length = TimeUnit.MILLISECONDS.toNanos(millis);
  }

  void begin() {
    begunAt = System.nanoTime();
  }

  void asked() {
    open++;
  }

  /** Whether there is to be another request in place of this one. */
  boolean answered(long askedAt) {
    long now = System.nanoTime();
    if (answers == nanos.length) {
      nanos = Arrays.copyOf(nanos, 2 * answers);
    }
    nanos[answers++] = now - askedAt;
    if (now - begunAt < length) {
      return true;
    }
    open--;
    if (open == 0) {
      endedAt = now;
      done.complete(null);
    }
    return false;
  }

  void fail(IOException why) {
    done.completeExceptionally(why);
  }

  /** Until its last answer. */
  void await() throws IOException, InterruptedException {
    try {
      done.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException failed) {
      throw new IOException(failed.getCause().getMessage(), failed.getCause());
    } catch (TimeoutException silent) {
      throw new IOException("no answer within " + PATIENCE_SECONDS + " s", silent);
    }
    Arrays.sort(nanos, 0, answers);
  }

  int answers() {
    return answers;
  }

  double seconds() {
    return (endedAt - begunAt) / 1e9;
  }

  /** Of the times that requests took; a share of them took no longer. */
  double micros(double share) {
    return nanos[(int) Math.min(answers - 1, Math.round(share * answers))] / 1e3;
  }
}
