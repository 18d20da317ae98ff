package dev.berth.fakes;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** Keeps what is sent, and delivers nothing. Any thread. */
public final class RecordingBus implements BusSender {
  /** One message and where it was to go. */
  public record Sent(String node, String address, BusMessage message) {}

  private final List<Sent> sent = new ArrayList<>();
  private volatile Predicate<Sent> accepts = message -> true;
  private volatile boolean gone;
  private volatile Predicate<BusMessage> unfit = message -> false;
  private volatile Consumer<Sent> onSend = message -> {};

  @Override
  public SendResult send(String node, String address, BusMessage message) {
    Sent one = new Sent(node, address, message);
    if (gone) {
      return SendResult.GONE;
    }
    if (!accepts.test(one)) {
      return SendResult.NOT_NOW;
    }
    if (unfit.test(message)) {
      return SendResult.unfit(new IllegalStateException("no wire form"));
    }
    synchronized (this) {
      sent.add(one);
    }
    onSend.accept(one);
    return SendResult.SENT;
  }

  /** What is refused from now on is not recorded, and {@code send} returns NOT_NOW. */
  public void acceptOnly(Predicate<Sent> accepted) {
    accepts = accepted;
  }

  /** Sets whether all peers are gone: {@code send} then returns GONE. */
  public void gone(boolean areGone) {
    gone = areGone;
  }

  /** These have no wire form from now on. */
  public void unfit(Predicate<BusMessage> which) {
    unfit = which;
  }

  /** Sees each message at the moment it is sent. */
  public void onSend(Consumer<Sent> observer) {
    onSend = observer;
  }

  /** Everything sent since the last call, in order. */
  public synchronized List<Sent> takeSent() {
    List<Sent> all = List.copyOf(sent);
    sent.clear();
    return all;
  }

  /** The messages sent since the last call, in order. */
  public List<BusMessage> take() {
    return takeSent().stream().map(Sent::message).toList();
  }
}
