package dev.berth.cluster.data;

import dev.berth.cluster.membership.Member;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The first frame of a link: who sends on it, and who it is for. As JSON, so that one of another
 * version is understood as far as it goes; its fields are named as they are spoken of.
 */
record Hello(JsonObject fields) {
  /** Of the frames; that of what is in them is the {@link WireCodec}'s. */
  static final int VERSION = 1;

  private static final String UNREGISTERED = " is not registered yet";
  private static final String LOOP = "loop";
  private static final String SENDER = "sender";

  /**
   * @param own of who sends
   * @param loop of the sender
   */
  static Hello of(String sender, OwnRegistration own, int loop, Member to) {
    return of(own.clusterId(), to.node().busName(), to.registration(), sender, own.number(), loop);
  }

  private static Hello of(
      String cluster, String to, long registration, String sender, long senders, int loop) {
    return new Hello(
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

  static Hello read(Buffer json) {
    return new Hello(new JsonObject(json));
  }

  String sender() {
    return fields.getString(SENDER, "");
  }

  int loop() {
    return fields.getInteger(LOOP, 0);
  }

  /** Returns whether a refusal names another process than the one that is meant, or no node yet. */
  static boolean isOfAnother(String refusal) {
    return refusal.startsWith("receiver: ") || refusal.endsWith(UNREGISTERED);
  }

  /**
   * What is not as the receiver has it, the first of it; null when all is.
   *
   * @param own the receiver's; null when he has none
   * @param known who sends, as the receiver knows him
   */
  @Nullable String refusal(String receiver, @Nullable OwnRegistration own, @Nullable Member known) {
    if (own == null) {
      return receiver + UNREGISTERED;
    }
    long number = known == null ? -1 : known.registration();
    Hello expected = of(own.clusterId(), receiver, own.number(), sender(), number, loop());
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
