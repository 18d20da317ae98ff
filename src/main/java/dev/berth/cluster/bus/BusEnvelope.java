package dev.berth.cluster.bus;

import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.membership.Member;
import io.vertx.core.buffer.Buffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The frame of a message between two processes over the event bus, with the identity of both. The
 * event bus has no identity of its own: any node of the cluster may write to any address.
 *
 * @param cluster id of the sender's cluster
 * @param sender bus name of the sender
 * @param senderNumber registration of the sender
 * @param receiverNumber registration of the receiver
 * @param secret secret of the receiving process, from the member list
 * @param sentNanos time of sending on the sender's monotonic clock
 * @param frame a frame of {@link dev.berth.cluster.data.DataFrame}
 */
record BusEnvelope(
    String cluster,
    String sender,
    long senderNumber,
    long receiverNumber,
    long secret,
    long sentNanos,
    Buffer frame) {
  /** Version of the form, the first byte. */
  static final byte VERSION = 1;

  private static final int NUMBERS = 4 * Long.BYTES;

  /** Returns the bytes before the time of sending, which are equal in all messages to a process. */
  static Buffer header(String sender, LocalRegistration own, long receiver, long secret) {
    Buffer header = Buffer.buffer().appendByte(VERSION);
    appendText(header, own.clusterId());
    appendText(header, sender);
    return header.appendLong(own.number()).appendLong(receiver).appendLong(secret);
  }

  private static void appendText(Buffer out, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.appendUnsignedShort(bytes.length).appendBytes(bytes);
  }

  /** Reads an envelope; null if the bytes are not one of this version with a frame. */
  static @Nullable BusEnvelope read(Buffer in) {
    if (in.length() == 0 || in.getByte(0) != VERSION) {
      return null;
    }
    String cluster = text(in, 1);
    int second = cluster == null ? in.length() : end(in, 1);
    String sender = text(in, second);
    int numbers = sender == null ? in.length() : end(in, second);
    if (cluster == null || sender == null || in.length() - numbers <= NUMBERS) {
      return null;
    }
    return new BusEnvelope(
        cluster,
        sender,
        in.getLong(numbers),
        in.getLong(numbers + Long.BYTES),
        in.getLong(numbers + 2 * Long.BYTES),
        in.getLong(numbers + 3 * Long.BYTES),
        in.slice(numbers + NUMBERS, in.length()));
  }

  private static int end(Buffer in, int start) {
    return start + Short.BYTES + in.getUnsignedShort(start);
  }

  private static @Nullable String text(Buffer in, int start) {
    return start + Short.BYTES > in.length() || end(in, start) > in.length()
        ? null
        : in.getString(start + Short.BYTES, end(in, start));
  }

  /**
   * Returns whether a process accepts the message. The comparison of the secret is one operation on
   * 64 bits, which takes the same time for every wrong secret.
   *
   * @param own registration of the receiver; null for none
   * @param ownSecret secret of the receiver
   * @param from the sender, as recorded by the receiver; null for none
   */
  boolean fits(@Nullable LocalRegistration own, long ownSecret, @Nullable Member from) {
    return own != null
        && from != null
        && secret == ownSecret
        && cluster.equals(own.clusterId())
        && receiverNumber == own.number()
        && senderNumber == from.registration()
        && sender.equals(from.node().busName());
  }

  /** Hides the secret. */
  @Override
  public String toString() {
    return "BusEnvelope[" + sender + " " + senderNumber + " to " + receiverNumber + "]";
  }
}
