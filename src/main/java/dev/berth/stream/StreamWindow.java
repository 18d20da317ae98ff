package dev.berth.stream;

import java.util.concurrent.Executor;
import java.util.function.LongConsumer;

/**
 * What one streamed answer may have under way: granted to its writer, and not taken by its reader.
 * It starts small, doubles each time a whole window was taken without a stall, and halves when the
 * instance has little room. Confined to its loop, but for {@link #granted}.
 */
public final class StreamWindow {
  private final StreamLedger ledger;
  private final int mostBytes;
  private final Executor loop;
  private final LongConsumer grant;
  private int size = StreamLedger.FIRST_BYTES;
  private long limit; // bytes granted in all
  private long arrived; // of them
  private long taken; // of these
  private long resizedAt; // when so much was taken
  private boolean stalled; // since
  private int wanted; // while it waits
  private boolean waiting;
  private boolean ended; // all of it has come
  private boolean closed;

  /**
   * @param mostBytes what it may grow to; {@code berth.limits.stream_window_bytes}
   * @param firstBytes what was granted with the request
   * @param loop runs a task on the stream's loop, later
   * @param grant tells the writer up to which byte it may send
   */
  public StreamWindow(
      StreamLedger ledger, int mostBytes, int firstBytes, Executor loop, LongConsumer grant) {
    this.ledger = ledger;
    this.mostBytes = mostBytes;
    this.loop = loop;
    this.grant = grant;
    this.limit = firstBytes;
    ledger.hold(firstBytes);
  }

  /** Asks for more, if what there is will soon be used up. */
  public void renew() {
    if (ended || closed) {
      return;
    }
    if (!waiting && underWay() <= size / 2) {
      resize();
      wanted = (int) (size - underWay());
      if (wanted > 0 && ledger.tryHold(wanted)) {
        grant(wanted);
      } else if (wanted > 0) {
        waiting = true;
        ledger.await(this);
      }
    }
    if (waiting && underWay() == 0) {
      ledger.hold(StreamLedger.LEAST_BYTES);
      grant(StreamLedger.LEAST_BYTES);
    }
  }

  private void resize() {
    if (ledger.isTight()) {
      size = Math.max(StreamLedger.FIRST_BYTES, size / 2);
    } else if (taken - resizedAt < size) {
      return;
    } else if (!stalled) {
      size = Math.min(mostBytes, 2 * size);
    }
    resizedAt = taken;
    stalled = false;
  }

  private void grant(int bytes) {
    limit += bytes;
    grant.accept(limit);
  }

  /** Its reader has taken so many bytes more. */
  public void took(int bytes) {
    if (!closed) {
      taken += bytes;
      ledger.release(bytes);
      renew();
    }
  }

  /** Its reader took next to nothing for a while. */
  public void stalled() {
    stalled = true;
  }

  int wanted() {
    return wanted;
  }

  /** The grant that waited has its room. Any thread. */
  void granted() {
    loop.execute(
        () -> {
          waiting = false;
          if (ended || closed) {
            ledger.release(wanted);
          } else {
            grant(wanted);
          }
        });
  }

  /** So many bytes more have come. */
  public void arrived(int bytes) {
    arrived += bytes;
  }

  /** All of it has come: what was granted beyond is given back. */
  public void ended() {
    if (!ended && !closed) {
      ended = true;
      leaveQueue();
      long unused = limit - arrived;
      limit = arrived;
      ledger.release(unused);
    }
  }

  /** Nothing of it will be taken any more. */
  public void close() {
    if (!closed) {
      closed = true;
      leaveQueue();
      ledger.release(underWay());
      limit = taken;
    }
  }

  private void leaveQueue() {
    if (waiting && ledger.cancel(this)) {
      waiting = false; // else its grant is on its way, and is given back when it comes
    }
  }

  /** Bytes granted in all. */
  public long limit() {
    return limit;
  }

  /** Bytes granted and not taken. */
  public long underWay() {
    return limit - taken;
  }
}
