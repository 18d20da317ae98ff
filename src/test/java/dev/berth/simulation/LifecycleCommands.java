package dev.berth.simulation;

import static dev.berth.fakes.Submits.submit;

import dev.berth.api.DeploymentId;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.ServeControl;
import dev.berth.node.SimulatedProcess;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.ServeDetails;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Whoever operates the instance: gives commands, and remembers what was acknowledged. What was
 * outlives every crash; of what was under way then, the first may have come to pass or not.
 */
final class LifecycleCommands implements ServeControl.ControllerOperations {

  /** One application, as it is declared. */
  record Entry(String text, Map<String, Integer> scales) {}

  /**
   * A command that has no answer yet.
   *
   * @param application that it is about; null when it is about all of them, and the capacity
   * @param share the capacity then
   * @param becomes the entry of an application after it, by its name
   * @param id of a rollback; it is sent again when the process ended before it answered
   */
  private record Pending(
      @Nullable String application,
      @Nullable Double share,
      Function<String, @Nullable Entry> becomes,
      @Nullable String id) {

    Pending(
        @Nullable String application,
        @Nullable Double share,
        Function<String, @Nullable Entry> becomes) {
      this(application, share, becomes, null);
    }

    boolean isAbout(String name) {
      return application == null || application.equals(name);
    }

    @Nullable Double capacity(@Nullable Double before) {
      return application == null ? share : before;
    }
  }

  /** It may come to be anything that was declared before: a rollback. */
  private static final Entry ANY = new Entry("", Map.of());

  private final LifecycleSimulation on;
  private final Map<String, LifecycleCode> codes = new HashMap<>(); // by entry
  private final ArrayDeque<Pending> pending = new ArrayDeque<>();
  private final List<Pending> doubtful = new ArrayList<>(); // refused since, as not to be kept
  private Map<String, Entry> acknowledged = new TreeMap<>();
  private @Nullable Double capacity; // acknowledged
  private @Nullable Double capacitySeen;
  private @Nullable LifecycleFault by; // whose commands follow
  private @Nullable Pending rolledBack; // the last rollback that was acknowledged
  private long rolledBackNanos;
  private int rollbacks;

  LifecycleCommands(LifecycleSimulation on) {
    this.on = on;
  }

  // --- what is known ---

  /** What was declared last, by application. */
  Map<String, LifecycleCode> store() {
    Map<String, LifecycleCode> store = new TreeMap<>();
    acknowledged.forEach((name, entry) -> store.put(name, code(entry.text)));
    return store;
  }

  /** What serves of an application, which is not what was declared last when that has failed. */
  LifecycleCode serving(String application) {
    SimulatedProcess process = Objects.requireNonNull(on.process, "process: none");
    for (DeclaredApplication each : process.serve().applications()) {
      if (each.name().equals(application)) {
        return code(process.entry(application, each.revision()));
      }
    }
    throw new IllegalStateException("application: " + application + " (expected: declared)");
  }

  private LifecycleCode code(String entry) {
    return Objects.requireNonNull(codes.get(entry), "entry: " + entry + " (expected: submitted)");
  }

  @Nullable Double capacity() {
    return capacity;
  }

  @Nullable Integer scaled(DeploymentId id) {
    Entry entry = acknowledged.get(id.application());
    return entry == null ? null : entry.scales.get(id.name());
  }

  boolean areDone() {
    return pending.isEmpty();
  }

  // --- commands ---

  /** The commands that follow are part of it; it is counted when one of them changed something. */
  void by(@Nullable LifecycleFault fault) {
    by = fault;
  }

  void declare(LifecycleCode code) {
    String text = code.entry(on.run);
    codes.put(text, code);
    Entry then = new Entry(text, Map.of());
    give(
        "declare " + code,
        serve -> submit(serve.commands(), code.application(), text),
        new Pending(
            code.application(),
            null,
            name -> {
              Entry now = acknowledged.get(name);
              return now != null && now.text.equals(text) ? now : then;
            }));
  }

  /** All of them again, with another target capacity. */
  void declareAll(@Nullable Double share) {
    JsonArray all = new JsonArray();
    Map<String, Entry> then = new TreeMap<>(acknowledged);
    then.values().forEach(each -> all.add(new JsonObject(each.text)));
    JsonObject whole = new JsonObject().put("applications", all);
    if (share != null) {
      whole.put("target_capacity", share);
    }
    give(
        "capacity " + share,
        serve -> submit(serve.commands(), whole.encode()),
        new Pending(
            null,
            share,
            name -> {
              Entry asked = then.get(name);
              Entry now = acknowledged.get(name);
              boolean same = asked != null && now != null && now.text.equals(asked.text);
              return same || asked == null ? (same ? now : null) : new Entry(asked.text, Map.of());
            }));
  }

  void withdraw(String application) {
    give(
        "withdraw " + application,
        serve -> serve.commands().delete(application),
        new Pending(application, null, name -> null));
  }

  void scale(DeploymentId id, int to) {
    give(
        "scale " + id + " to " + to,
        serve -> serve.commands().scale(id.application(), id.name(), to),
        new Pending(
            id.application(),
            null,
            name -> {
              Entry now = acknowledged.get(name);
              if (now == null) {
                return null;
              }
              Map<String, Integer> scales = new TreeMap<>(now.scales);
              scales.put(id.name(), to);
              return new Entry(now.text, scales);
            }));
  }

  void rollback(String application) {
    String id = "rollback-" + ++rollbacks;
    rollback(application, id, name -> acknowledged.containsKey(name) ? ANY : null);
  }

  private void rollback(String application, String id, Function<String, @Nullable Entry> becomes) {
    give(
        id + " of " + application,
        serve -> serve.commands().once(id).rollback(application, null, false),
        new Pending(application, null, becomes, id));
  }

  /** Whoever had no answer, or lost it, asks again: what had come to pass does not once more. */
  private void again(@Nullable Pending asked, boolean came) {
    String application = asked == null ? null : asked.application;
    if (asked != null && asked.id != null && application != null) {
      on.count(came ? "rollbacks sent twice" : "rollbacks sent again", 1);
      Function<String, @Nullable Entry> unchanged = name -> acknowledged.get(name); // by then
      rollback(application, asked.id, came ? unchanged : asked.becomes);
    }
  }

  private void give(String what, Function<ServeControl, Future<?>> command, Pending asked) {
    SimulatedProcess process = on.process;
    if (process == null) {
      return;
    }
    LifecycleFault of = by;
    pending.add(asked);
    on.onControl(
        () -> {
          if (on.process != process) {
            return;
          }
          on.world.note("command", what);
          command
              .apply(process.serve())
              .onComplete(
                  done -> answered(process, what, asked, of, null),
                  failed -> answered(process, what, asked, of, failed));
        });
  }

  private void answered(
      SimulatedProcess process,
      String what,
      Pending asked,
      @Nullable LifecycleFault of,
      @Nullable Throwable failed) {
    if (on.process != process) {
      return; // nobody hears it
    }
    pending.remove(asked);
    Map<String, Entry> now = declared(process);
    on.world.note("answer", failed == null ? "done: " + what : "refused: " + what + ": " + failed);
    on.count(failed == null ? "commands done" : "commands refused", 1);
    if (failed == null) {
      expect("after " + what, now, capacityOf(process), asked, true);
      boolean changed = !now.equals(acknowledged) || !Objects.equals(capacity, capacityOf(process));
      if (of != null && of.isCommand() && changed) {
        on.count(of);
      }
      if (!now.equals(acknowledged)) {
        doubtful.clear(); // what was written of them was cut off, or given up
      }
      acknowledged = now;
      capacity = asked.capacity(capacity);
      if (asked.id != null) {
        rolledBack = asked;
        rolledBackNanos = on.world.getAsLong();
      }
    } else {
      if (!(failed instanceof CommandRejectedException refused)) {
        throw on.world.fail(what + ": " + failed + " (expected: done, or refused)", failed);
      }
      expect("after it was refused, " + what, now, capacityOf(process), null, false);
      if (refused.kind() == CommandRejectedException.CommandRejectionReason.UNAVAILABLE) {
        doubtful.add(asked);
      }
    }
  }

  /** What is declared is what was, but for what a command made of it. */
  private void expect(
      String when,
      Map<String, Entry> now,
      @Nullable Double capacityNow,
      @Nullable Pending by,
      boolean certainly) {
    boolean before = now.equals(acknowledged) && Objects.equals(capacityNow, capacity);
    if ((certainly || !before) && (by == null || !isAs(now, capacityNow, by))) {
      throw on.world.fail(
          "%s: declared: %s, %s (expected: what was acknowledged: %s, %s, with what was under way: %s)"
              .formatted(when, now, capacityNow, acknowledged, capacity, by));
    }
  }

  private boolean isAs(Map<String, Entry> now, @Nullable Double capacityNow, Pending by) {
    Set<String> names = new LinkedHashSet<>(acknowledged.keySet());
    names.addAll(now.keySet());
    boolean is = Objects.equals(capacityNow, by.capacity(capacity));
    for (String name : names) {
      Entry then = by.isAbout(name) ? by.becomes.apply(name) : acknowledged.get(name);
      is &= then == ANY ? now.get(name) != null : Objects.equals(now.get(name), then);
    }
    return is;
  }

  private static Map<String, Entry> declared(SimulatedProcess process) {
    Map<String, Entry> declared = new TreeMap<>();
    for (DeclaredApplication each : process.serve().applications()) {
      declared.put(each.name(), new Entry(each.config(), new TreeMap<>(each.scales())));
    }
    return declared;
  }

  private @Nullable Double capacityOf(SimulatedProcess process) {
    process.serve().commands().details(); // it says so to whom it asks
    return capacitySeen;
  }

  /** After a crash: nothing is lost that was acknowledged. */
  void processBegins(SimulatedProcess process) {
    Map<String, Entry> now = declared(process);
    Double capacityNow = capacityOf(process);
    boolean came = !now.equals(acknowledged) || !Objects.equals(capacity, capacityNow);
    Pending first = came ? madeBy(now, capacityNow) : pending.peek();
    expect("after a crash", now, capacityNow, first, false);
    on.count("crashes under commands", pending.isEmpty() ? 0 : 1);
    on.count("unanswered commands found done after a crash", came ? 1 : 0);
    pending.clear();
    doubtful.clear();
    acknowledged = now;
    capacity = capacityNow;
    again(first, came);
    if (on.world.getAsLong() - rolledBackNanos < TimeUnit.MINUTES.toNanos(9)) {
      again(rolledBack, true);
    }
  }

  /** Of what may have come to pass: rather what says what it makes than what may make anything. */
  private @Nullable Pending madeBy(Map<String, Entry> now, @Nullable Double capacityNow) {
    return Stream.concat(pending.stream().limit(1), doubtful.stream())
        .filter(each -> isAs(now, capacityNow, each))
        .min(Comparator.comparing(each -> each.id != null))
        .orElse(null);
  }

  // --- what commands ask of the controller ---

  @Override
  public void tell(ControllerEvent event) {
    on.onControl(() -> on.tell(event));
  }

  @Override
  public Future<ServeDetails> details(@Nullable Double targetCapacity, @Nullable String stateDir) {
    capacitySeen = targetCapacity;
    return Future.failedFuture("details: of none (expected: a look at the capacity)");
  }

  @Override
  public @Nullable Map<String, Boolean> deployments(String application) {
    Controller controller = on.controller;
    if (controller == null) {
      throw new CommandRejectedException(
          CommandRejectedException.CommandRejectionReason.UNAVAILABLE, "controller: none");
    }
    ApplicationDetails known = controller.details(application);
    if (known == null) {
      return null;
    }
    Map<String, Boolean> names = new LinkedHashMap<>();
    known.deployments().forEach(each -> names.put(each.name(), false));
    return names;
  }

  @Override
  public @Nullable Supplier<JsonObject> autoscaling(DeploymentId deployment) {
    return null;
  }

  @Override
  public @Nullable Set<Path> jarsInUse() {
    return null;
  }

  @Override
  public Future<Void> restart(long term) {
    on.controllerBegins(term);
    return Future.succeededFuture();
  }

  @Override
  public Future<Void> drain() {
    return Future.succeededFuture();
  }
}
