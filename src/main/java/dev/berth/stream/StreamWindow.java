package dev.berth.stream;

import java.util.concurrent.Executor;
import java.util.function.LongConsumer;

/**
 * Flow-control window of one streamed response: the bytes granted to its writer and not yet taken
 * by its reader. The window starts small, doubles after each whole window taken without a stall,
 * and halves when the instance's budget is tight. Confined to its loop, except {@link #onGranted}.
 */
public final class StreamWindow {
  private final StreamMemoryBudget ledger;
  private final int mostBytes;
  private final Executor loop;
  private final LongConsumer grant;
  private int size = StreamMemoryBudget.FIRST_BYTES;
  private long limit; // total of bytes granted
  private long arrived; // total of bytes received
  private long taken; // total of bytes taken by the reader
  private long resizedAt; // value of taken at the last resize
  private boolean stalled; // since the last resize
  private int wanted; // bytes of the waiting grant
  private boolean waiting;
  private boolean ended; // the whole body was received
  private boolean closed;

  /**
   * @param mostBytes maximum of the window; {@code berth.limits.stream_window_bytes}
   * @param firstBytes bytes granted with the request
   * @param loop runs a task on the stream's loop, later
   * @param grant sends the writer the total of bytes that it may send
   */
  public StreamWindow(
      StreamMemoryBudget ledger, int mostBytes, int firstBytes, Executor loop, LongConsumer grant) {
    this.ledger = ledger;
    this.mostBytes = mostBytes;
    this.loop = loop;
    this.grant = grant;
    this.limit = firstBytes;
    ledger.hold(firstBytes);
  }

  /** Requests a grant when half of the window is used up. */
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
      ledger.hold(StreamMemoryBudget.MIN_WINDOW_BYTES);
      grant(StreamMemoryBudget.MIN_WINDOW_BYTES);
    }
  }

  private void resize() {
    if (ledger.isTight()) {
      size = Math.max(StreamMemoryBudget.FIRST_BYTES, size / 2);
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

  /** Records bytes taken by the reader. */
  public void onConsumed(int bytes) {
    if (!closed) {
      taken += bytes;
      ledger.release(bytes);
      renew();
    }
  }

  /** Records that the reader stalled: it took almost nothing for a period. */
  public void stalled() {
    stalled = true;
  }

  int wantedBytes() {
    return wanted;
  }

  /** Makes the waiting grant, whose bytes the ledger has counted. Thread-safe. */
  void onGranted() {
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

  /** Records received bytes. */
  public void arrived(int bytes) {
    arrived += bytes;
  }

  /** Records that the whole body was received, and releases the unused grant. */
  public void onEnded() {
    if (!ended && !closed) {
      ended = true;
      leaveQueue();
      long unused = limit - arrived;
      limit = arrived;
      ledger.release(unused);
    }
  }

  /** Closes the window and releases all bytes, as the reader has stopped. */
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
      waiting = false; // else granted() follows, and releases the bytes
    }
  }

  /** Returns the total of bytes granted. */
  public long limit() {
    return limit;
  }

  /** Returns the bytes granted and not taken. */
  public long underWay() {
    return limit - taken;
  }
}
