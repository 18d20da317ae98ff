import io.vertx.core.Context;
import io.vertx.core.buffer.Buffer;
import java.util.function.Consumer;

/**
 * Frames of a link of ours over any stream of bytes: a length, an id, the body. What is sent in one
 * tick of the loop is one write.
 */
final class Frames implements Link {
  static final int LENGTH = Integer.BYTES;
  static final int ID = Integer.BYTES;
  static final int MOST = 1 << 20;

  private final Context loop;
  private final Consumer<Buffer> stream;
  private final Receiver receiver;
  private Buffer unsent = Buffer.buffer();
  private Buffer partial = Buffer.buffer();

  /**
   * @param stream takes each write
   */
  Frames(Context loop, Consumer<Buffer> stream, Receiver receiver) {
    this.loop = loop;
    this.stream = stream;
    this.receiver = receiver;
  }

  @Override
  public void send(int id, Buffer body) {
    if (unsent.length() == 0) {
      loop.runOnContext(task -> flush());
    }
    unsent.appendInt(ID + body.length()).appendInt(id).appendBuffer(body);
  }

  private void flush() {
    Buffer all = unsent;
    unsent = Buffer.buffer(all.length()); // the next tick is much like this one
    stream.accept(all);
  }

  /** What came from the stream, in any pieces. */
  void take(Buffer piece) {
    int at = 0;
    while (at < piece.length()) {
      int left = piece.length() - at;
      if (partial.length() == 0 && left >= LENGTH) {
        int whole = whole(piece, at);
        if (left >= whole) {
          deliver(piece.slice(at, at + whole));
          at += whole;
          continue;
        }
        partial = Buffer.buffer(whole);
      }
      int wanted = partial.length() < LENGTH ? LENGTH : whole(partial, 0);
      int taken = Math.min(wanted - partial.length(), left);
      partial.appendBuffer(piece, at, taken);
      at += taken;
      if (partial.length() >= LENGTH && partial.length() == whole(partial, 0)) {
        Buffer frame = partial;
        partial = Buffer.buffer();
        deliver(frame);
      }
    }
  }

  private void deliver(Buffer frame) {
    receiver.received(frame.getInt(LENGTH), frame.slice(LENGTH + ID, frame.length()));
  }

  private static int whole(Buffer buffer, int at) {
    int length = buffer.getInt(at);
    if (length < ID || length > MOST) {
      throw new IllegalStateException("a frame of " + length + " (expected: 4 to " + MOST + ")");
    }
    return LENGTH + length;
  }
}
