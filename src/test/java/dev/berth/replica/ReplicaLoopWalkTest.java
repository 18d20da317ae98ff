package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException.Kind;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.BusMessage.StreamCredit;
import dev.berth.protocol.BusMessage.StreamFrame;
import dev.berth.protocol.BusMessage.StreamReset;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * A replica among routers that send, cancel, reserve, release and vanish at random, over a bus that
 * repeats and delays: nothing runs twice or after a refusal, nothing is answered twice, and at rest
 * no slot is taken. A failure prints its seed.
 */
class ReplicaLoopWalkTest {
  private static final int SEEDS = 60;
  private static final int STEPS = 400;

  /** One request as the walk knows it. */
  private static final class Sent {
    final CallRequest message;
    boolean cancelled;
    int ran;
    int ended;
    boolean refused;

    Sent(CallRequest message) {
      this.message = message;
    }
  }

  private final class Walk {
    final long seed;
    final Random random;
    final ReplicaRig rig = new ReplicaRig();
    final Replica replica;
    final Map<String, Sent> byRequestId = new HashMap<>();
    final Map<String, Sent> byCall = new HashMap<>(); // router and call id
    final List<BusMessage> delayed = new ArrayList<>();
    final List<SlotToken> tokens = new ArrayList<>();
    final List<AttemptId> attempts = new ArrayList<>();
    final List<Promise<Response>> open = new ArrayList<>();
    final List<Promise<Void>> bodies = new ArrayList<>();
    int next;

    Walk(long seed) {
      this.seed = seed;
      this.random = new Random(seed);
      AsyncHandler handler =
          (request, context) -> {
            byRequestId.get(context.requestId()).ran++;
            Promise<Response> promise = Promise.promise();
            open.add(promise);
            return promise.future();
          };
      this.replica = rig.start(1 + random.nextInt(4), handler);
    }

    RouterAddress router() {
      return random.nextBoolean()
          ? new RouterAddress("n1", random.nextInt(2))
          : new RouterAddress("n" + (2 + random.nextInt(2)), random.nextInt(2));
    }

    void step() {
      switch (random.nextInt(12)) {
        case 0, 1, 2 -> request();
        case 3 -> deliver(true);
        case 4 -> cancel();
        case 5, 6 -> answer();
        case 7 -> reserve();
        case 8 -> release();
        case 9 -> credit();
        case 10 -> {
          if (!bodies.isEmpty()) {
            bodies.remove(random.nextInt(bodies.size())).tryComplete();
          }
        }
        default -> rig.pass(Duration.ofMillis(random.nextInt(200)));
      }
      if (random.nextInt(4) > 0) {
        rig.tasks.runAll();
      }
      look();
    }

    private void request() {
      RouterAddress from = router();
      int id = next++;
      AttemptId attempt = new AttemptId(5, from.loop(), id);
      Admission right;
      if (from.node().equals("n1")) {
        if (!replica.slots().tryAcquire()) {
          return;
        }
        right = Admission.AcquiredSlot.HELD;
      } else if (!tokens.isEmpty() && random.nextBoolean()) {
        right = new Admission.Token(tokens.remove(random.nextInt(tokens.size())));
      } else {
        right = Admission.IfFree.IF_FREE;
      }
      CallRequest message =
          ReplicaRig.call(replica)
              .id(callId(freePlace(from), id))
              .from(from)
              .attempt(attempt)
              .by(right)
              .deadlineMs(random.nextInt(3) == 0 ? random.nextInt(500) : -1)
              .window(random.nextInt(100_000))
              .named("r" + id, "", "")
              .message();
      Sent sent = new Sent(message);
      byRequestId.put("r" + id, sent);
      byCall.put(from + "/" + message.callId(), sent);
      if (right == Admission.AcquiredSlot.HELD) {
        rig.loop().onMessage(message); // inside an instance nothing is late or twice
        return;
      }
      delayed.add(message);
      if (random.nextInt(5) == 0) {
        delayed.add(message);
      }
      if (random.nextBoolean()) {
        deliver(false);
      }
    }

    /** A router gives a place in its table to another only when it waits for the first no more. */
    private int freePlace(RouterAddress router) {
      for (; ; ) {
        int place = random.nextInt(100);
        boolean taken =
            byCall.values().stream()
                .anyMatch(
                    sent ->
                        sent.ended == 0
                            && !sent.cancelled
                            && sent.message.source().equals(router)
                            && (int) sent.message.callId() == place);
        if (!taken) {
          return place;
        }
      }
    }

    private void deliver(boolean any) {
      if (!delayed.isEmpty()) {
        int which = any ? random.nextInt(delayed.size()) : delayed.size() - 1;
        rig.loop().onMessage(delayed.remove(which));
      }
    }

    private void cancel() {
      List<Sent> recent =
          byCall.values().stream().filter(s -> s.ended == 0 && !s.cancelled).toList();
      if (recent.isEmpty()) {
        return;
      }
      Sent sent = recent.get(random.nextInt(recent.size()));
      sent.cancelled = true;
      CallRequest m = sent.message;
      rig.loop().onMessage(new CancelCall(m.callId(), m.source(), m.attempt(), m.target(), false));
    }

    private void answer() {
      if (open.isEmpty()) {
        return;
      }
      Promise<Response> promise = open.remove(random.nextInt(open.size()));
      switch (random.nextInt(4)) {
        case 0 -> promise.fail(new dev.berth.api.BerthException.Timeout("walk"));
        case 1 -> promise.complete(Response.of(200, "a/b", Buffer.buffer(new byte[70_000])));
        case 2 -> {
          Promise<Void> body = Promise.promise();
          bodies.add(body);
          int length = random.nextInt(2_000);
          promise.complete(
              Response.stream(
                  "a/b",
                  writer -> {
                    writer.write(Buffer.buffer(new byte[length]));
                    return body.future();
                  }));
        }
        default -> promise.complete(Response.text("ok"));
      }
    }

    private void reserve() {
      AttemptId attempt = new AttemptId(6, 0, next++);
      attempts.add(attempt);
      rig.loop()
          .onMessage(
              new ReserveSlot(
                  callId(500, next++),
                  new RouterAddress("n2", 0),
                  attempt,
                  replica.address(),
                  random.nextInt(2_000),
                  -1,
                  1));
    }

    private void release() {
      if (!attempts.isEmpty()) {
        AttemptId attempt = attempts.remove(random.nextInt(attempts.size()));
        rig.loop()
            .onMessage(new ReleaseSlot(-1, new RouterAddress("n2", 0), attempt, replica.address()));
      }
    }

    private void credit() {
      for (Sent sent : byCall.values()) {
        if (sent.ran > 0 && sent.ended == 0) {
          CallRequest m = sent.message;
          rig.loop()
              .onMessage(
                  new StreamCredit(m.callId(), m.source(), m.target(), random.nextInt(100_000)));
        }
      }
    }

    private void look() {
      for (var sent : rig.bus.takeSent()) {
        BusMessage message = sent.message();
        if (message instanceof SlotReserved reserved) {
          tokens.add(reserved.token());
        } else if (message instanceof SlotOffer offer) {
          if (random.nextBoolean()) {
            tokens.addAll(offer.tokens());
          } else {
            attempts.add(offer.attempt());
          }
        } else if (message instanceof BusMessage.Answer answer && isEnd(answer)) {
          ended(sent.address(), answer.callId(), answer instanceof CallRefused);
        }
      }
      assertThat(replica.slots().ongoing())
          .as("seed %d: ongoing", seed)
          .isBetween(0, replica.slots().maxOngoing());
      for (Sent sent : byRequestId.values()) {
        assertThat(sent.ran).as("seed %d: runs of %s", seed, sent.message).isLessThanOrEqualTo(1);
        assertThat(sent.refused && sent.ran > 0)
            .as("seed %d: refused and ran: %s", seed, sent.message)
            .isFalse();
      }
    }

    private static boolean isEnd(BusMessage.Answer answer) {
      return answer instanceof CallFailed failed && failed.kind() != Kind.CANCELLED // of a cancel
          || answer instanceof StreamReset
          || answer instanceof CallRefused
          || (answer instanceof CallResponse head && !head.streamed())
          || (answer instanceof StreamFrame frame && frame.last());
    }

    private void ended(String address, long callId, boolean refused) {
      for (Sent sent : byCall.values()) {
        if (sent.message.callId() == callId && sent.message.source().busAddress().equals(address)) {
          sent.ended++;
          sent.refused |= refused;
          assertThat(sent.ended).as("seed %d: answers of %s", seed, sent.message).isEqualTo(1);
          assertThat(sent.cancelled && sent.ran > 0)
              .as("seed %d: answered after its cancel: %s", seed, sent.message)
              .isFalse();
        }
      }
    }

    /** Everyone lets go: then nothing may be held. */
    void rest() {
      while (!delayed.isEmpty()) {
        deliver(true);
        look();
      }
      for (int i = 0; i < 200 && replica.slots().ongoing() > 0; i++) {
        while (!open.isEmpty()) {
          open.remove(0).tryComplete(Response.text("ok"));
        }
        bodies.forEach(Promise::tryComplete);
        bodies.clear();
        rig.tasks.runAll();
        credit();
        look();
        rig.pass(Duration.ofMillis(50));
        rig.host.sweep(0, 1, mismatch -> {});
      }
      rig.clock.advance(Duration.ofSeconds(3));
      rig.host.sweep(0, 1, mismatch -> {});
      look();
      rig.clock.advance(Duration.ofSeconds(3));
      rig.host.sweep(0, 1, mismatch -> {});
      assertAtRest(replica.slots());
      assertThat(rig.loop().invocations()).as("seed %d", seed).isZero();
      assertThat(replica.zombies()).as("seed %d", seed).isZero();
      Set<RouterAddress> seen = new HashSet<>();
      for (Sent sent : byRequestId.values()) {
        seen.add(sent.message.source());
        if (!sent.cancelled && sent.message.deadlineMicros() < 0) {
          assertThat(sent.ended).as("seed %d: answers of %s", seed, sent.message).isEqualTo(1);
        }
      }
      assertThat(seen).as("seed %d", seed).hasSizeGreaterThan(3);
    }
  }

  @Test
  void nothingRunsTwiceNothingIsAnsweredTwiceAndNoSlotIsLost() {
    long base = Long.getLong("walk.seed", 1);
    for (int i = 0; i < SEEDS; i++) {
      Walk walk = new Walk(base + i);
      for (int step = 0; step < STEPS; step++) {
        try {
          walk.step();
        } catch (RuntimeException e) {
          throw new AssertionError("seed " + walk.seed, e);
        }
      }
      walk.rest();
    }
  }
}
