import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.StreamFrame;
import io.vertx.core.buffer.Buffer;

/** A kind of message. A reply has the kind of the message that it answers. */
enum Letter {
  /** Two numbers. */
  SMALL("two numbers (`CallAccepted`)") {
    @Override
    BusMessage of(long id, Buffer body) {
      return new CallAccepted(id, 0);
    }

    @Override
    boolean fits(BusMessage message) {
      return message instanceof CallAccepted;
    }
  },
  /** A chunk of a response of 1 KiB. */
  KIBIBYTE("1 KiB (`StreamFrame`)") {
    @Override
    BusMessage of(long id, Buffer body) {
      return new StreamFrame(id, 0, body, false, 0);
    }

    @Override
    boolean fits(BusMessage message) {
      return message instanceof StreamFrame frame && frame.data().length() == BYTES;
    }
  };

  private static final int BYTES = 1024;

  final String label;

  Letter(String label) {
    this.label = label;
  }

  /** Creates the body of all messages of one loop. */
  static Buffer body() {
    return Buffer.buffer(new byte[BYTES]);
  }

  /** Creates a message. */
  abstract BusMessage of(long id, Buffer body);

  /** Returns whether a message is of this kind and complete. */
  abstract boolean fits(BusMessage message);
}
