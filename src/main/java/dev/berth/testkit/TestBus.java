package dev.berth.testkit;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * Thread-safe event bus of a test: a message is a task of the loop that its address names. Records
 * the requests without a reply, to name them when a test is stuck.
 */
final class TestBus implements BusSender {
  /** Caller of a request: the address of a router, and its call id. */
  private record Asker(String router, long callId) {}

  private record Asked(String replica, String request) {}

  private final String node;
  // constant once it runs
  private final Map<String, Consumer<BusMessage>> consumers = new HashMap<>();
  private final Map<Asker, Asked> underWay = new LinkedHashMap<>(); // guarded by itself

  TestBus(String node) {
    this.node = node;
  }

  /** Subscribes a loop to an address. Called before the first message. */
  void consume(String address, Executor loop, Consumer<BusMessage> consumer) {
    consumers.put(address, message -> loop.execute(() -> consumer.accept(message)));
  }

  @Override
  public SendResult send(String to, String address, BusMessage message) {
    Consumer<BusMessage> target = node.equals(to) ? consumers.get(address) : null;
    if (target == null) {
      return SendResult.GONE;
    }
    follow(address, message);
    target.accept(message);
    return SendResult.SENT;
  }

  private void follow(String address, BusMessage message) {
    if (message instanceof BusMessage.CallRequest call) {
      put(call);
    } else if (message instanceof BusMessage.CancelCall cancel) {
      over(cancel.source().busAddress(), cancel.callId());
    } else if (message instanceof BusMessage.Answer answer && answer.isLast()) {
      over(address, answer.callId());
    }
  }

  private void put(BusMessage.CallRequest call) {
    String request = call.request().method() + " " + call.request().path();
    if (!call.methodName().isEmpty()) {
      request += " by " + call.methodName();
    }
    String replica = call.target().ordinal() + "/" + call.target().epoch();
    synchronized (underWay) {
      underWay.put(
          new Asker(call.source().busAddress(), call.callId()), new Asked(replica, request));
    }
  }

  private void over(String router, long callId) {
    synchronized (underWay) {
      underWay.remove(new Asker(router, callId));
    }
  }

  /** Returns the requests to a replica incarnation that are neither completed nor cancelled. */
  List<String> unanswered(int ordinal, long epoch) {
    String replica = ordinal + "/" + epoch;
    synchronized (underWay) {
      return underWay.values().stream()
          .filter(asked -> asked.replica.equals(replica))
          .map(Asked::request)
          .toList();
    }
  }
}
