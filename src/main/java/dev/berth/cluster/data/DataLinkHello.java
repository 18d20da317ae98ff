package dev.berth.cluster.data;

import dev.berth.cluster.membership.Member;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The first frame of a link, which names its sender and its receiver. In JSON, so that a node of
 * another version can read the known fields. Field names appear in refusals.
 */
record DataLinkHello(JsonObject fields) {
  /** Version of the frames; messages have the version of {@link WireCodec}. */
  static final int VERSION = 1;

  private static final String UNREGISTERED = " is not registered yet";
  private static final String LOOP = "loop";
  private static final String SENDER = "sender";

  /**
   * Returns the frame of a sender.
   *
   * @param own registration of the sender
   * @param loop loop index of the sender
   */
  static DataLinkHello of(String sender, LocalRegistration own, int loop, Member to) {
    return of(own.clusterId(), to.node().busName(), to.registration(), sender, own.number(), loop);
  }

  private static DataLinkHello of(
      String cluster, String to, long registration, String sender, long senders, int loop) {
    return new DataLinkHello(
        new JsonObject()
            .put("version", VERSION)
            .put("version of messages", WireCodec.VERSION)
            .put("cluster id", cluster)
            .put("receiver", to)
            .put("receiver's registration", registration)
            .put(SENDER, sender)
            .put("sender's registration", senders)
            .put(LOOP, loop));
  }

  static DataLinkHello read(Buffer json) {
    return new DataLinkHello(new JsonObject(json));
  }

  String sender() {
    return fields.getString(SENDER, "");
  }

  int loop() {
    return fields.getInteger(LOOP, 0);
  }

  /**
   * Returns whether a refusal reports that the receiver is another process, or is not registered
   * yet.
   */
  static boolean isOfAnother(String refusal) {
    return refusal.startsWith("receiver: ") || refusal.endsWith(UNREGISTERED);
  }

  /**
   * Returns the first difference from the receiver's own state; null when all fields match.
   *
   * @param own the receiver's registration; null for none
   * @param known the sender, as recorded by the receiver
   */
  @Nullable String refusal(
      String receiver, @Nullable LocalRegistration own, @Nullable Member known) {
    if (own == null) {
      return receiver + UNREGISTERED;
    }
    long number = known == null ? -1 : known.registration();
    DataLinkHello expected = of(own.clusterId(), receiver, own.number(), sender(), number, loop());
    for (String name : expected.fields.fieldNames()) {
      String is = Objects.toString(fields.getValue(name));
      String wanted = Objects.toString(expected.fields.getValue(name));
      if (!is.equals(wanted)) {
        return number == -1 && name.startsWith(SENDER)
            ? sender() + " is not known here"
            : name + ": " + is + " (expected: " + wanted + ")";
      }
    }
    return null;
  }
}
