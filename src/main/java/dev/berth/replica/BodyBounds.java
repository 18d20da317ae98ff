package dev.berth.replica;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What the request bodies that arrive at an instance's replicas may hold together. Each bound is
 * one atomic add-then-check. Any thread.
 */
public final class BodyBounds {
  private final int windowBytes;
  private final long maxStreamBytes;
  private final long maxBufferedBytes;
  private final AtomicLong streamBytes = new AtomicLong();
  private final AtomicLong bufferedBytes = new AtomicLong();

  /**
   * @param windowBytes what one body may have under way ({@code stream_window_bytes}); default 256
   *     KiB
   * @param maxStreamBytes what all bodies together may have under way ({@code stream_bytes_total},
   *     which bounds the responses by itself too); default 64 MiB
   * @param maxBufferedBytes bytes gathered for handlers that take bodies whole ({@code
   *     buffered_body_bytes_total}); default 256 MiB
   */
  public BodyBounds(int windowBytes, long maxStreamBytes, long maxBufferedBytes) {
    this.windowBytes = windowBytes;
    this.maxStreamBytes = maxStreamBytes;
    this.maxBufferedBytes = maxBufferedBytes;
  }

  /** A window for one more body: a whole one, or of one frame when room is scarce; 0 for none. */
  int tryWindow() {
    if (tryAdd(streamBytes, windowBytes, maxStreamBytes)) {
      return windowBytes;
    }
    return tryAdd(streamBytes, ResponseStream.MAX_FRAME_BYTES, maxStreamBytes)
        ? ResponseStream.MAX_FRAME_BYTES
        : 0;
  }

  void windowEnded(int bytes) {
    streamBytes.addAndGet(-bytes);
  }

  boolean tryBuffer(int bytes) {
    return tryAdd(bufferedBytes, bytes, maxBufferedBytes);
  }

  void bufferEnded(long bytes) {
    bufferedBytes.addAndGet(-bytes);
  }

  private static boolean tryAdd(AtomicLong sum, int bytes, long max) {
    if (sum.addAndGet(bytes) > max) {
      sum.addAndGet(-bytes);
      return false;
    }
    return true;
  }

  /** Windows of the bodies that arrive now, in bytes. */
  public long streamBytes() {
    return streamBytes.get();
  }

  /** The bound on {@link #streamBytes}. */
  public long maxStreamBytes() {
    return maxStreamBytes;
  }

  /** Bytes gathered now, those of requests that run included. */
  public long bufferedBytes() {
    return bufferedBytes.get();
  }

  /** The bound on {@link #bufferedBytes}. */
  public long maxBufferedBytes() {
    return maxBufferedBytes;
  }
}
