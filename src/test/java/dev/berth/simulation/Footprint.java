package dev.berth.simulation;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The size of everything that an object of Berth holds: for each field the entries of its tables
 * and the value of its counters, summed over all objects that are reachable, and for each class how
 * many of them there are. Two footprints of an object at rest are equal unless something leaks.
 *
 * <p>Objects of simulations and of libraries are not entered, except the collections and references
 * of the JDK.
 */
public final class Footprint {
  /**
   * Totals, sequences, and places in rings: they grow with what has happened. And routers that an
   * instance has heard of, kinds of failures that it has seen and sizes of last frames, which are
   * bounded.
   */
  static final Set<String> GROWS =
      Set.of(
          """
          cluster.bus.NodeBus.dropped
          cluster.bus.NodeBus.failed
          cluster.bus.NodeBus.received
          cluster.bus.NodeBus.receivedBytes
          cluster.bus.NodeBus.refused
          cluster.bus.NodeBus.sent
          cluster.bus.NodeBus.sentBytes
          cluster.control.ControlClient$Session.awaitedBeat
          cluster.control.ControlClient$Session.beats
          cluster.control.ControlServer$Peer.beats
          cluster.control.ControlServer$Peer.upTo
          cluster.control.ControlServer.lastLink
          cluster.data.ClockOffset.offset
          cluster.data.ClockOffset.roundTrip
          cluster.data.ClockOffset.takenNanos
          cluster.data.LinkCounters.bytesReceived
          cluster.data.LinkCounters.bytesSent
          cluster.data.LinkCounters.framesReceived
          cluster.data.LinkCounters.framesSent
          cluster.data.LinkCounters.opened
          cluster.data.PeerClock.answeredPing
          cluster.link.LogDeduplicator.last
          cluster.membership.NodeRecord.link
          metrics.RollingMax.place
          node.LedgerMaintenanceVerticle.sweeps
          node.loops.LoopWatch.answered
          node.loops.LoopWatch.beats
          replica.RemoteWaiters$RemoteWaiter.cost
          replica.RemoteWaiters$RemoteWaiter.wanted
          replica.batch.BatchTable.expected
          replica.LoopReplica.failed
          replica.HealthCheckWheel.touched
          replica.LoopReplica.frameBytes
          replica.LoopReplica.unanswered
          replica.ReplicaLoop.peers
          replica.RemoteWaiters$RemoteWaiter
          replica.RemoteWaiters$RemoteWaiter.offered
          replica.RemoteWaiters.known
          replica.RouterSession
          replica.RouterSession.incarnation
          replica.RouterSession.lastWords
          replica.RemoteWaiters.offers
          replica.ReplicaLoop.duplicates
          replica.ReplicaRuntime.timeouts
          replica.log.FailureCounts.counts
          replica.log.FailureLog$LogRateLimiter
          replica.log.FailureLog$LogRateLimiter.left
          replica.log.FailureLog$LogRateLimiter.suppressed
          replica.log.FailureLog.lines
          replica.log.FailureLog.looks
          replica.log.FailureLog.unlogged
          replica.batch.BatchMeters.batches
          replica.batch.BatchMeters.percents
          replica.batch.BatchMeters.requests
          replica.batch.BatchTable.lastId
          replica.batch.BatchTable.refillsUntil
          replica.slots.SlotCounters.completed
          replica.slots.SlotCounters.expired
          replica.slots.SlotCounters.granted
          replica.slots.SlotCounters.released
          replica.slots.SlotCounters.word
          replica.slots.SlotLedger.duplicates
          replica.slots.SlotLedger.sequences
          routing.CancelledCalls.unrepeated
          routing.slots.BatchForming$WindowTarget
          routing.slots.BatchForming$WindowTarget.left
          routing.slots.BatchForming.targets
          routing.CompletionRate.endedAtTick
          routing.CompletionRate.perSecond
          routing.HandleCounters.backPressured
          routing.HandleCounters.calls
          routing.HandleCounters.cancelled
          routing.HandleCounters.choices
          routing.HandleCounters.dispatched
          routing.HandleCounters.ended
          routing.HandleCounters.failed
          routing.HandleCounters.retries
          routing.HandleCounters.selected
          routing.HandleCounters.selectionsExpired
          routing.HandleCounters.sent
          routing.HandleCounters.turnedAway
          routing.HandleCounters.undispatched
          routing.HandleCounters.unselected
          routing.RouterLoop.attempts
          routing.RouterLoop.cancelsNotRepeated
          routing.RouterLoop.duplicates
          routing.RouterLoop.lateAnswers
          routing.RouterLoop.recalls
          routing.ranking.CurrentRanker.failures
          routing.slots.RemoteReplica.newestOffer
          routing.slots.RemoteReplica.offersSeen
          routing.slots.WaiterQueue.handOffs
          routing.slots.WaiterQueue.sequences
          routing.slots.WaiterQueue.unfit
          """
              .split("\\s+"));

  /** Times. */
  private static final Pattern TIME =
      Pattern.compile(".*(Nanos|\\.nanos|Millis|[a-z]At|Ends|[tT]ick)");

  private static final Map<Class<?>, List<Field>> FIELDS = new ConcurrentHashMap<>();

  private final Map<String, Long> sizes = new TreeMap<>();
  private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
  private final ArrayDeque<Object> open = new ArrayDeque<>();

  private Footprint() {}

  /** Measures all that is reachable. */
  public static Footprint of(Object... roots) {
    Footprint made = new Footprint();
    for (Object root : roots) {
      made.enter(root);
    }
    while (!made.open.isEmpty()) {
      made.measure(made.open.remove());
    }
    made.seen.clear();
    return made;
  }

  /**
   * Returns what grew since another one, by field or class.
   *
   * @param grows fields and classes that may
   */
  public Map<String, String> grownSince(Footprint before, Set<String> grows) {
    Map<String, String> grown = new TreeMap<>();
    sizes.forEach(
        (what, size) -> {
          long was = before.sizes.getOrDefault(what, 0L);
          if (size > was && !grows.contains(what) && !TIME.matcher(what).matches()) {
            grown.put(what, was + " -> " + size);
          }
        });
    return grown;
  }

  private void enter(@Nullable Object value) {
    if (value != null && isEntered(value) && seen.add(value)) {
      open.add(value);
    }
  }

  private static boolean isEntered(Object value) {
    Class<?> type = value.getClass();
    if (value instanceof Collection
        || value instanceof Map
        || value instanceof AtomicReference
        || value instanceof AtomicReferenceArray
        || value instanceof Optional
        || type.isArray() && !type.getComponentType().isPrimitive()) {
      return true;
    }
    String name = type.getName();
    return name.startsWith("dev.berth.")
        && !name.startsWith("dev.berth.simulation.")
        && !name.startsWith("dev.berth.fakes.")
        && !name.startsWith("dev.berth.api.")
        && !name.startsWith("dev.berth.controller.AutoscaledFleet")
        && !name.startsWith("dev.berth.controller.DrivenController")
        && !(value instanceof Enum);
  }

  private void add(String what, long size) {
    sizes.merge(what, size, Long::sum);
  }

  private void measure(Object value) {
    if (value instanceof Map<?, ?> map) {
      map.forEach(
          (key, entry) -> {
            enter(key);
            enter(entry);
          });
    } else if (value instanceof Collection<?> all) {
      all.forEach(this::enter);
    } else if (value instanceof AtomicReference<?> reference) {
      enter(reference.get());
    } else if (value instanceof AtomicReferenceArray<?> array) {
      for (int i = 0; i < array.length(); i++) {
        enter(array.get(i));
      }
    } else if (value instanceof Optional<?> optional) {
      optional.ifPresent(this::enter);
    } else if (value.getClass().isArray()) {
      for (int i = 0; i < Array.getLength(value); i++) {
        enter(Array.get(value, i));
      }
    } else {
      fields(value);
    }
  }

  private void fields(Object value) {
    Class<?> type = value.getClass();
    if (!type.isHidden() && !type.isRecord()) { // no lambda, and no value
      add(name(type), 1);
    }
    for (Field field : FIELDS.computeIfAbsent(type, Footprint::declared)) {
      Object held;
      try {
        held = field.get(value);
      } catch (IllegalAccessException impossible) {
        throw new IllegalStateException(impossible);
      }
      String what = name(field.getDeclaringClass()) + "." + field.getName();
      if (held instanceof Map<?, ?> map) {
        add(what, map.size());
      } else if (held instanceof Collection<?> all) {
        add(what, all.size());
      } else if (held instanceof Number number
          && !type.isHidden()
          && !(Modifier.isFinal(field.getModifiers()) && field.getType().isPrimitive())) {
        add(what, number.longValue());
      }
      enter(held);
    }
  }

  private static String name(Class<?> type) {
    return type.getName().substring("dev.berth.".length());
  }

  private static List<Field> declared(Class<?> type) {
    List<Field> fields = new java.util.ArrayList<>();
    for (Class<?> each = type;
        each != null && each.getName().startsWith("dev.berth.");
        each = each.getSuperclass()) {
      for (Field field : each.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers())) {
          field.setAccessible(true);
          fields.add(field);
        }
      }
    }
    return fields;
  }
}
