package dev.berth.node;

import dev.berth.cluster.bus.AddressChange;
import dev.berth.cluster.bus.AddressRegistrations;
import dev.berth.cluster.control.ControlServer;
import dev.berth.cluster.membership.Member;
import dev.berth.node.loops.LoopVerticle;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.function.Supplier;

/**
 * Publication of the event bus addresses of applications to all nodes, over their control links.
 * Confined to the control loop.
 */
final class AddressPublisher {
  /** Interval of the publications, in milliseconds. */
  private static final long PUBLISH_MS = 100;

  /** Maximum number of processes in one publication: a link has a limit of unsent bytes. */
  private static final int MAX_PUBLISHED = 20;

  private final AddressRegistrations addresses = new AddressRegistrations();
  private final LoopVerticle control;
  private final ControlServer server;
  private final Supplier<List<Member>> members;
  private boolean publishes; // a publication is due

  AddressPublisher(LoopVerticle control, ControlServer server, Supplier<List<Member>> members) {
    this.control = control;
    this.server = server;
    this.members = members;
  }

  void onNodeJoined(Member member) {
    addresses.join(member.node().busName(), member.registration());
  }

  void onNodeRemoved(String busName) {
    addresses.remove(busName);
    publishSoon();
  }

  /** Applies the addresses in an inventory, and sends those of all nodes back. */
  void onInventory(Member from, JsonObject inventory) {
    onMessage(from, inventory);
    send(from.node().name(), List.copyOf(addresses.nodes()));
  }

  /** Applies a message of a node if it contains addresses; returns whether it does. */
  boolean onMessage(Member from, JsonObject message) {
    JsonArray changes = message.getJsonArray(AddressChange.MEMBER);
    if (changes != null) {
      AddressChange.decode(changes)
          .forEach(each -> addresses.apply(from.node().busName(), from.registration(), each));
      publishSoon();
    }
    return changes != null;
  }

  private void publishSoon() {
    if (!publishes && addresses.hasChanges()) {
      publishes = true;
      control.home().setTimer(PUBLISH_MS, passed -> publish());
    }
  }

  private void publish() {
    publishes = false;
    List<Member> to = members.get();
    if (!to.isEmpty()) { // else this controller still awaits nodes, and the changes wait
      Buffer message = AddressChange.message(addresses.publish(MAX_PUBLISHED)).toBuffer();
      to.forEach(each -> server.command(each.node().name(), message));
    }
    publishSoon();
  }

  /** Sends the addresses of processes to a node, in steps. */
  private void send(String node, List<String> of) {
    List<String> now = of.subList(0, Math.min(MAX_PUBLISHED, of.size()));
    List<AddressChange> published = addresses.published(now);
    if (!published.isEmpty()) {
      server.command(node, AddressChange.message(published).toBuffer());
    }
    if (now.size() < of.size()) {
      List<String> rest = of.subList(now.size(), of.size());
      control.home().setTimer(PUBLISH_MS, passed -> send(node, rest));
    }
  }
}
