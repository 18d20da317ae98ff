package dev.berth.desired;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.DesiredState.Mark;
import dev.berth.protocol.ApplicationStatus;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what has become of the revisions: those that ran can be had back later, and those that
 * failed are not tried again by a controller that starts anew, where one that ran before is to
 * serve. Belongs to the control loop.
 */
final class ServeControlMarks {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControlMarks.class);

  /** An entry that was read; exactly one of the two is null. */
  private record Reading(@Nullable ApplicationConfig config, @Nullable String problem) {}

  private final ServeConfig file;
  private final ServeControlStore store;
  private final DesiredState state;
  private final ServeControlQueue queue;
  private final Map<String, Mark> marks = new LinkedHashMap<>(); // to be made durable, by name
  private final Map<String, Long> firstRan = new HashMap<>(); // revisions that ran here first
  private final Map<String, Reading> instead = new HashMap<>(); // of what failed, by name
  private final Consumer<ControllerEvent> controller;
  private long lastAtStart; // revision
  private boolean queued;
  private boolean writing;

  ServeControlMarks(
      ServeConfig file,
      ServeControlStore store,
      DesiredState state,
      ServeControlQueue queue,
      Consumer<ControllerEvent> controller) {
    this.file = file;
    this.store = store;
    this.state = state;
    this.queue = queue;
    this.controller = controller;
  }

  /** Reads what is to serve in place of what failed earlier. Blocks; once, before the others. */
  void open() {
    instead.putAll(read(state.applications()));
    state.applications().forEach(each -> lastAtStart = Math.max(lastAtStart, each.revision()));
  }

  /** The entry that serves in place of the wanted one; null when it cannot be read. */
  @Nullable ApplicationConfig read(String application) {
    Reading reading = instead.get(application);
    return reading == null ? null : reading.config;
  }

  /** Why it cannot be read. */
  String unreadable(String application) {
    Reading reading = instead.get(application);
    String problem = reading == null ? null : reading.problem;
    return problem == null ? "unknown (expected: known)" : problem;
  }

  void forget(String application) {
    instead.remove(application);
    firstRan.remove(application);
  }

  void announced(Announce announce) {
    Mark mark = mark(announce);
    if (mark == null) {
      return;
    }
    marks.put(announce.application(), mark);
    if (!queued) {
      queued = true;
      queue
          .addInternal(this::keep)
          .onComplete(ended -> writing = false)
          .onFailure(
              failed -> LOG.warn("state: what ran or failed is not kept: {}", failed.toString()));
    }
  }

  private @Nullable Mark mark(Announce announce) {
    String name = announce.application();
    DesiredApplication wanted = state.find(name);
    if (wanted == null || wanted.revision() != announce.revision()) {
      return null;
    }
    if (announce.status() == ApplicationStatus.RUNNING) {
      Mark runs = new Mark(announce.revision(), null, announce.proven(), announce.ran());
      if (!announce.proven()) {
        return runs;
      }
      if (!wanted.healthy()) {
        if (announce.revision() > lastAtStart) { // it replaces another, and is on trial
          firstRan.put(name, announce.revision());
        }
      } else if (!queued && !writing && wanted.ran().equals(announce.ran())) {
        return null; // it says so already
      }
      return runs;
    }
    // What ran in an earlier process has proved itself: it is not given up for a bad start.
    boolean proven =
        wanted.healthy() && !Long.valueOf(announce.revision()).equals(firstRan.get(name));
    return announce.status() != ApplicationStatus.DEPLOY_FAILED || wanted.before() == null || proven
        ? null
        : new Mark(announce.revision(), announce.message());
  }

  private ServeControlQueue.Work<Void> keep() {
    Map<String, Mark> taken = Map.copyOf(marks);
    marks.clear();
    queued = false;
    writing = true;
    return () -> {
      DesiredChange change = state.mark(taken);
      if (change == null) {
        return done -> {};
      }
      if (store.isUsed()) {
        store.append(change, state);
      }
      Map<String, Reading> readings = read(change.applications());
      return done -> {
        state.apply(change);
        instead.putAll(readings);
        readings.keySet().forEach(this::serveInstead);
      };
    };
  }

  /** What ran before serves on already, unless this process began with what failed. */
  private void serveInstead(String application) {
    DesiredApplication failed = state.find(application);
    if (failed != null && failed.revision() <= lastAtStart) {
      controller.accept(new ControllerEvent.Declared(state.declared(failed)));
    }
  }

  /** Off the loop; may block. */
  private Map<String, Reading> read(Iterable<DesiredApplication> applications) {
    Map<String, Reading> readings = new HashMap<>();
    for (DesiredApplication each : applications) {
      if (each.failed() != null) {
        readings.put(each.name(), read(each));
      }
    }
    return readings;
  }

  private Reading read(DesiredApplication failed) {
    try {
      return new Reading(
          ServeControlInput.read(failed.name(), failed.serving(), store::path, file), null);
    } catch (ConfigException refused) {
      LOG.error("state: application {}: {}", failed.name(), refused.getMessage());
      return new Reading(null, refused.getMessage());
    }
  }
}
