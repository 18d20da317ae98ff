package dev.berth.node;

import dev.berth.cluster.bus.AddressChange;
import dev.berth.cluster.bus.ApplicationAddresses;
import dev.berth.cluster.control.ControlClient;
import dev.berth.node.loops.LoopVerticle;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Report of the event bus addresses of a node's applications to the controller, over the control
 * link. Confined to the control loop, except for {@link #report}.
 */
final class AddressReporter {
  /** Delay of a report, which joins the changes until then. In milliseconds. */
  private static final long REPORT_MS = 100;

  /** Interval of the looks at registrations without a confirmation. In milliseconds. */
  private static final long EXPIRE_MS =
      TimeUnit.NANOSECONDS.toMillis(ApplicationAddresses.CONFIRM_NANOS) / 10;

  private final @Nullable ApplicationAddresses own;
  private final LoopVerticle control;
  private final Supplier<@Nullable ControlClient> joined;
  private boolean expires; // a timer is armed
  private final AtomicBoolean queued = new AtomicBoolean(); // a report is queued

  /**
   * @param own addresses of this node; null if the event bus of applications reaches no other node
   * @param joined the control link's client; null before the node joins
   */
  AddressReporter(
      @Nullable ApplicationAddresses own,
      LoopVerticle control,
      Supplier<@Nullable ControlClient> joined) {
    this.own = own;
    this.control = control;
    this.joined = joined;
    if (own != null) {
      own.onChange(() -> report(own));
    }
  }

  /** Adds the own addresses to an inventory. */
  JsonObject addTo(JsonObject inventory) {
    return own == null
        ? inventory
        : inventory.put(AddressChange.MEMBER, AddressChange.encode(List.of(own.inventory())));
  }

  /** Reports changed addresses to the controller. Thread-safe. */
  private void report(ApplicationAddresses own) {
    if (!queued.compareAndSet(false, true)) {
      return;
    }
    control.execute(() -> control.home().setTimer(REPORT_MS, due -> sendChanges(own)));
  }

  private void sendChanges(ApplicationAddresses own) {
    queued.set(false);
    ControlClient client = joined.get();
    List<AddressChange> changes = client == null ? List.of() : own.changes();
    if (client != null && !changes.isEmpty()) { // else the inventory contains them
      client.event(AddressChange.message(changes).toBuffer());
    }
    expireLater(own);
  }

  /** Arms the timer of registrations without a confirmation: one at a time. */
  private void expireLater(ApplicationAddresses own) {
    if (!expires && own.hasUnconfirmed()) {
      expires = true;
      control
          .home()
          .setTimer(
              EXPIRE_MS,
              passed -> {
                expires = false;
                own.expire();
                expireLater(own);
              });
    }
  }

  /** Applies a message of the controller if it contains addresses; returns whether it does. */
  boolean onMessage(JsonObject message) {
    JsonArray changes = message.getJsonArray(AddressChange.MEMBER);
    if (changes != null && own != null) {
      own.apply(AddressChange.decode(changes));
    }
    return changes != null;
  }

  void removeNode(String busName) {
    if (own != null) {
      own.removeNode(busName);
    }
  }

  /** Returns the number of addresses of a node; null if none reach other nodes. */
  @Nullable Integer count(String busName) {
    return own == null ? null : own.count(busName);
  }
}
