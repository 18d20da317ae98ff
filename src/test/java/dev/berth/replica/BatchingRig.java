package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.callId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncBatchHandler;
import dev.berth.api.BatchHandler;
import dev.berth.api.BatchItem;
import dev.berth.api.BatchResult;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;

/** A replica with batches, whose test plays the routers and answers for the handler. */
abstract class BatchingRig {
  ReplicaRig rig = new ReplicaRig();
  Replica replica;
  final List<List<String>> batches = new ArrayList<>();
  final ArrayDeque<Promise<List<BatchResult>>> open = new ArrayDeque<>();
  Function<List<BatchItem>, List<BatchResult>> answers = BatchingRig::echo;
  int pumps;
  int calls;

  static final BatchSettings RAYS = rules(10, 10, 1);

  static BatchSettings rules(int size, long waitMs, int concurrent) {
    return new BatchSettings(
        size,
        Duration.ofMillis(waitMs).toNanos(),
        concurrent,
        false,
        Integer.MAX_VALUE,
        Long.MAX_VALUE,
        List.of(),
        List.of());
  }

  static List<BatchResult> echo(List<BatchItem> items) {
    return items.stream()
        .map(each -> BatchResult.of(Response.text(each.request().bytes().toString())))
        .toList();
  }

  static List<String> bodies(List<BatchItem> items) {
    return items.stream().map(each -> each.request().bytes().toString()).toList();
  }

  /** A handler on a thread that answers at once. */
  final BatchHandler atOnce =
      items -> {
        batches.add(bodies(items));
        return answers.apply(items);
      };

  /** A handler on the loop that answers when the test says so. */
  final AsyncBatchHandler later =
      items -> {
        batches.add(bodies(items));
        Promise<List<BatchResult>> promise = Promise.promise();
        open.add(promise);
        return promise.future().map(none -> answers.apply(items));
      };

  void start(BatchSettings rules, ReplicaHandler handler) {
    start(rules, 64, handler);
  }

  void start(BatchSettings rules, int slots, ReplicaHandler handler) {
    rig = new ReplicaRig(limits(rules), 1);
    replica = rig.start(slots, handler);
    rig.host.observe(
        replica.address(),
        new SlotObserver() {
          @Override
          public void onSlotFreed(Slots freed) {
            pumps++;
          }
        });
  }

  static ReplicaLimits limits(BatchSettings rules) {
    return ReplicaLimits.DEFAULTS.withOwn(
        Duration.ofSeconds(10).toNanos(), 100, 4 << 20, "", rules);
  }

  void change(BatchSettings rules) {
    replica.configure(64, limits(rules), Replicas.HEALTH_CHECKS);
    rig.runAll();
  }

  ReplicaRig.Call call(String body) {
    ReplicaRig.Call made = ReplicaRig.call(replica).id(callId(++calls, 1));
    made.request =
        Request.of("POST", "/", null, dev.berth.api.Headers.empty(), Buffer.buffer(body));
    return made;
  }

  /** A loose request on a slot of its own; returns its id. */
  long send(String body) {
    return send(call(body));
  }

  long send(ReplicaRig.Call call) {
    rig.sendHeld(call);
    rig.runAll();
    return call.callId;
  }

  void send(String... bodies) {
    for (String body : bodies) {
      send(body);
    }
  }

  /** Moves the clock, and lets each timer look whether it is due. */
  void pass(long millis) {
    rig.clock.advance(Duration.ofMillis(millis));
    List<ReplicaRig.Timer> armed = List.copyOf(rig.timers);
    rig.timers.clear();
    armed.stream().filter(timer -> !timer.cancelled).forEach(timer -> timer.task.run());
    rig.runAll();
  }

  void finishOldest() {
    open.remove().complete(List.of());
    rig.runAll();
  }

  Map<Long, Object> outcomes() {
    Map<Long, Object> all = new HashMap<>();
    for (BusMessage each : rig.bus.take()) {
      if (each instanceof CallResponse response) {
        all.put(response.callId(), response.body().toString());
      } else if (each instanceof CallFailed failed) {
        all.put(failed.callId(), failed.kind());
      } else if (each instanceof CallRefused refused) {
        all.put(refused.callId(), refused.reason());
      }
    }
    return all;
  }

  BatchSeats seats() {
    return rig.host.batchesOf(replica.address());
  }

  @AfterEach
  void everySlotIsFree() {
    if (replica != null) {
      while (!open.isEmpty()) {
        finishOldest();
      }
      pass(60_000);
      while (!open.isEmpty()) {
        finishOldest();
      }
      rig.assertAtRest();
      BatchSeats left = seats(); // null once the replica was killed
      assertThat(left != null && left.isBusy()).isFalse();
    }
  }
}
