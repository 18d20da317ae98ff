package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.fakes.ToldSource;
import dev.berth.routing.BufferedPrefixBody;
import dev.berth.simulation.Executions.Execution;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The body that a caller streams: so many bytes, each known by its place, in pieces of any size and
 * pace. Some stand still for a while, and some fail midway.
 */
final class SimulatedSource extends ToldSource implements BufferedPrefixBody {
  /** How long the body is to be, for the handler that gets it. */
  static final String TOTAL = "x-total";

  private static final int LARGEST_PIECE = 70_000;

  private final Simulation on;
  private final Op op;
  private final SplittableRandom random;
  private final int total;
  private final int failsAt; // offset, or -1
  private final int firstSize;
  private int given;
  private boolean flowing;
  private boolean posted;
  private boolean over;
  private boolean failed;

  SimulatedSource(Simulation on, Op op, SplittableRandom random) {
    this.on = on;
    this.op = op;
    this.random = random;
    this.total = drawTotal(random);
    this.failsAt = random.nextInt(15) == 0 ? random.nextInt(total + 1) : -1;
    this.firstSize = random.nextBoolean() ? 0 : random.nextInt(Math.min(total, 65_536) + 1);
    this.given = firstSize;
  }

  static int drawTotal(SplittableRandom random) {
    return switch (random.nextInt(12)) {
      case 0 -> 0;
      case 1, 2 -> random.nextInt(5 * 65_536);
      case 3 -> SimulatedInstance.MAX_BUFFERED + 1 + random.nextInt(20_000);
      default -> random.nextInt(20_000);
    };
  }

  /** The bytes of a body from one place to another. */
  static Buffer content(int from, int to) {
    byte[] bytes = new byte[to - from];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = at(from + i);
    }
    return Buffer.buffer(bytes);
  }

  private static byte at(int place) {
    return (byte) (place ^ (place >>> 7) ^ (place >>> 14));
  }

  /** Whether these are the bytes of that place: all are looked at. */
  static boolean isContent(int from, Buffer piece) {
    for (int i = 0; i < piece.length(); i++) {
      if (piece.getByte(i) != at(from + i)) {
        return false;
      }
    }
    return true;
  }

  Request request(String path) {
    return Request.of(
        "POST",
        path,
        null,
        Headers.of(TOTAL, Integer.toString(total)),
        new Request.Body.Streamed(this));
  }

  boolean failed() {
    return failed;
  }

  boolean isFlowing() {
    return flowing;
  }

  @Override
  public Buffer first() {
    return content(0, firstSize);
  }

  private void post() {
    if (!posted && flowing && !over) {
      posted = true;
      boolean still = random.nextInt(200) == 0;
      long most = still ? (on.orderly ? 400_000_000L : 2_500_000_000L) : 200_000;
      op.loop.start(random.nextLong(most), this::pump);
    }
  }

  private void pump() {
    posted = false;
    for (int pieces = 1 + random.nextInt(3); pieces > 0 && flowing && !over; pieces--) {
      if (op.vanished) {
        op.leftUndone();
        return;
      }
      if (failsAt >= 0 && given >= failsAt) {
        fail();
      } else if (given == total) {
        over = true;
        handlerOf(endHandler).handle(null);
      } else {
        give();
      }
    }
    post();
  }

  private void give() {
    int size = 1 + random.nextInt(random.nextInt(20) == 0 ? LARGEST_PIECE : 9_000);
    int from = given;
    given = Math.min(total, given + size);
    Execution execution = on.executions.of(op.requestId);
    // The window is one of 64 KiB, and one piece more may have been taken from here.
    if (execution != null
        && execution.readsStream
        && !execution.settled
        && from - execution.bytesRead > 65_536) {
      throw on.world.fail(
          op + ": " + (from - execution.bytesRead) + " bytes under way (expected: a window)");
    }
    handlerOf(handler).handle(content(from, given));
  }

  private void fail() {
    over = true;
    failed = true;
    on.coverage.seen(Transition.SOURCE_FAILED);
    handlerOf(exceptionHandler)
        .handle(
            random.nextBoolean()
                ? new BerthException.Cancelled("its client left")
                : new IllegalStateException("as drawn"));
  }

  private <T> Handler<T> handlerOf(@Nullable Handler<T> wanted) {
    on.world.failIf(wanted == null, () -> op + ": its source flows, and nobody listens");
    return wanted;
  }

  @Override
  public ReadStream<Buffer> pause() {
    flowing = false;
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    flowing = true;
    post();
    return this;
  }

  @Override
  public ReadStream<Buffer> fetch(long amount) {
    return resume(); // nobody who sends a body counts pieces
  }
}
