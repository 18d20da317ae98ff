package dev.berth.cluster.bus;

import dev.berth.cluster.link.LogDeduplicator;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricSeries;
import dev.berth.protocol.BusAddresses;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.eventbus.impl.EventBusImpl;
import io.vertx.core.eventbus.impl.MessageImpl;
import io.vertx.core.eventbus.impl.OutboundDeliveryContext;
import io.vertx.core.eventbus.impl.clustered.ClusteredMessage;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The outbound interceptor of a clustered event bus: chooses the receiving nodes of the messages of
 * applications, and enforces their limits. Thread-safe.
 *
 * <p><b>Receiver.</b> Vert.x sends a message to the node of its {@code repliedTo} field, whatever
 * its address. This class sets that field, because only a message to one known node has a future
 * that completes when that node's socket has accepted the bytes. A {@code publish} becomes one
 * message per node.
 */
public final class ApplicationBus implements Handler<DeliveryContext<Object>> {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationBus.class);

  /** Maximum length of a message to another node, in bytes. */
  public static final int MAX_MESSAGE_BYTES = 64 * 1024;

  /** Maximum number of bytes of applications in flight to one node. */
  public static final int MAX_BYTES_PER_PEER = 1024 * 1024;

  /** Codecs of strings, buffers, JSON, byte arrays and primitives have lower numbers. */
  private static final int FIRST_OBJECT_CODEC = 16;

  /** Prefix of the addresses of requesters, by Vert.x. */
  private static final String REPLY = "__vertx.reply.";

  private static final VarHandle RECEIVER = receiver();

  private final EventBusImpl bus;
  private final String node;
  private final ApplicationAddresses addresses;

  /** Bytes by bus name, each for one connection: Vert.x may lose the end of a write with it. */
  private final Map<String, AtomicInteger> inFlight = new ConcurrentHashMap<>();

  private final AtomicInteger turn = new AtomicInteger();
  private final LongAdder sent = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LogDeduplicator logged = new LogDeduplicator(); // guarded by itself

  private ApplicationBus(EventBusImpl bus, String node, ApplicationAddresses addresses) {
    this.bus = bus;
    this.node = node;
    this.addresses = addresses;
  }

  /**
   * Lets the applications' messages on a clustered bus reach other nodes.
   *
   * @param node bus name of this process
   */
  static ApplicationBus install(
      EventBus bus, String node, BusCluster cluster, ApplicationAddresses addresses) {
    ApplicationBus made = new ApplicationBus((EventBusImpl) bus, node, addresses);
    cluster.onConnecting(made.inFlight::remove);
    bus.clusterSerializableChecker(type -> false).serializableChecker(type -> false);
    bus.addOutboundInterceptor(made);
    return made;
  }

  /**
   * Installs the rules for the applications' messages on a bus that carries Berth's messages, or
   * reaches other nodes.
   *
   * @param node bus name of this process
   * @param cluster null if the bus does not reach other nodes
   */
  public static void install(
      EventBus bus, String node, @Nullable BusCluster cluster, Meters meters) {
    meters.addCounter("berth_bus_sends_forged", ReservedAddresses.install(bus)::refusedCount);
    ApplicationAddresses shared = cluster == null ? null : cluster.applications();
    if (cluster != null && shared != null) {
      meters.add(install(bus, node, cluster, shared)::show);
    }
  }

  private static VarHandle receiver() {
    try {
      return MethodHandles.privateLookupIn(ClusteredMessage.class, MethodHandles.lookup())
          .findVarHandle(ClusteredMessage.class, "repliedTo", String.class);
    } catch (ReflectiveOperationException other) {
      throw new IllegalStateException("Vert.x: another version (expected: that of Berth)", other);
    }
  }

  @Override
  public void handle(DeliveryContext<Object> delivery) {
    OutboundDeliveryContext<Object> sending = (OutboundDeliveryContext<Object>) delivery;
    MessageImpl<?, ?> message = (MessageImpl<?, ?>) delivery.message();
    String to = (String) RECEIVER.get((ClusteredMessage<?, ?>) message); // of a reply
    boolean local = to == null ? sending.options.isLocalOnly() : node.equals(to);
    if (local || BusAddresses.isReserved(message.address())) { // see ReservedAddresses
      delivery.next();
      return;
    }
    int codec = message.codec().systemCodecID();
    if (codec < 0 || codec >= FIRST_OBJECT_CODEC) {
      refuse(
          sending,
          "codec %s (expected: String, Buffer, byte[], JSON or a primitive; others with"
              + " DeliveryOptions.setLocalOnly(true))",
          message.codec().name());
    } else if (to != null) {
      sendTo(to, sending, message);
    } else if (message.isSend()) {
      String next = next(message.address());
      RECEIVER.set(message, next);
      sendTo(next, sending, message);
    } else {
      publish(sending, message);
    }
  }

  /** Returns the nodes with consumers in turn; this node if there are none. */
  private String next(String address) {
    List<String> nodes = addresses.elsewhere(address);
    int count = nodes.size() + (addresses.isHere(address) ? 1 : 0);
    // Golden ratio steps: each node is chosen equally often, also if two addresses alternate.
    long step = Integer.toUnsignedLong(turn.getAndAdd(0x9E3779B9));
    int index = (int) (step * count >>> Integer.SIZE);
    return index < nodes.size() ? nodes.get(index) : node;
  }

  private void publish(OutboundDeliveryContext<Object> sending, MessageImpl<?, ?> message) {
    String address = message.address();
    List<String> nodes = addresses.elsewhere(address);
    for (String each : nodes) {
      MessageImpl<?, ?> copy =
          bus.createMessage(
              false,
              false,
              address,
              MultiMap.caseInsensitiveMultiMap().addAll(message.headers()),
              sending.body(),
              sending.options.getCodecName());
      RECEIVER.set(copy, each);
      Future<Void> written = bus.sendOrPubInternal(copy, sending.options, null);
      if (written.failed()) { // refused at once
        sending.writePromise.tryFail(written.cause());
      }
    }
    if (nodes.isEmpty() || addresses.isHere(address)) {
      RECEIVER.set(message, node);
      sending.next();
    } else {
      sending.tryComplete(null);
    }
  }

  private void sendTo(
      String to, OutboundDeliveryContext<Object> sending, MessageImpl<?, ?> message) {
    if (to.equals(node)) {
      sending.next();
      return;
    }
    int bytes;
    try {
      bytes = bytes(message, sending.body());
    } catch (RuntimeException notEncodable) {
      refuse(sending, "body: not encodable: %s", notEncodable);
      return;
    }
    if (bytes > MAX_MESSAGE_BYTES) {
      refuse(sending, "%d bytes (expected: at most " + MAX_MESSAGE_BYTES + " to a node)", bytes);
      return;
    }
    AtomicInteger used = inFlight.computeIfAbsent(to, first -> new AtomicInteger());
    if (used.addAndGet(bytes) > MAX_BYTES_PER_PEER) {
      used.addAndGet(-bytes);
      refuse(sending, "%s: over " + MAX_BYTES_PER_PEER + " bytes in flight (expected: retry)", to);
    } else {
      sent.increment();
      sending.writePromise.future().onComplete(accepted -> used.addAndGet(-bytes));
      sending.next();
    }
  }

  @SuppressWarnings("unchecked")
  private static int bytes(MessageImpl<?, ?> message, @Nullable Object body) {
    Buffer form = Buffer.buffer();
    ((MessageCodec<@Nullable Object, ?>) message.codec()).encodeToWire(form, body);
    MultiMap headers = message.headers();
    headers.forEach((name, value) -> form.appendString(name).appendString(value));
    return form.appendString(message.address()).length();
  }

  /**
   * Fails a message. A request and the write of a producer return the failure. A refused reply
   * fails the request on the other node. Everything else shows only in the log.
   */
  private void refuse(OutboundDeliveryContext<Object> sending, String why, Object of) {
    refused.increment();
    String address = sending.message.address();
    String reason = "message to %s: ".formatted(address) + why.formatted(of);
    sending.tryFail(new ReplyException(ReplyFailure.ERROR, reason));
    boolean replies = address.startsWith(REPLY);
    if (replies && !(sending.body() instanceof ReplyException)) {
      ReplyException failure = new ReplyException(ReplyFailure.RECIPIENT_FAILURE, reason);
      MessageImpl<?, ?> reply = bus.createMessage(true, false, address, null, failure, null);
      RECEIVER.set(reply, RECEIVER.get((ClusteredMessage<?, ?>) sending.message));
      bus.sendOrPubInternal(reply, sending.options, null);
    }
    synchronized (logged) {
      if (!logged.isNew(replies ? REPLY : address, why)) {
        return;
      }
    }
    LOG.warn("event bus: refused: {}", reason);
  }

  /** Returns the number of bytes in flight to a node. */
  int inFlight(String to) {
    AtomicInteger used = inFlight.get(to);
    return used == null ? 0 : used.get();
  }

  /** Reports the metrics of the applications' messages. */
  private void show(MetricSeries into) {
    into.counter("berth_application_bus_sent", sent.sum());
    into.counter("berth_application_bus_refused", refused.sum());
    into.gauge(
        "berth_application_bus_inflight_bytes",
        inFlight.values().stream().mapToInt(AtomicInteger::get).max().orElse(0),
        MAX_BYTES_PER_PEER);
    into.gauge(
        "berth_application_bus_addresses",
        addresses.count(node),
        ApplicationAddresses.MAX_ADDRESSES);
  }
}
