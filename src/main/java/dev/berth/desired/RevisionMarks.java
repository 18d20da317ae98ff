package dev.berth.desired;

import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.DesiredState.Mark;
import dev.berth.desired.ServeControl.Decision;
import dev.berth.protocol.ApplicationStatus;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what has become of the revisions: those that ran can be had back later, and those that
 * failed are not tried again by a controller that starts anew, where one that ran before is to
 * serve. Belongs to the control loop.
 */
final class RevisionMarks {

  /** Has something noted, which is computed when its turn comes. */
  @FunctionalInterface
  interface Notes {
    Future<?> add(Supplier<Function<DesiredState, Decision>> decide);
  }

  private final Notes notes;
  private final Map<String, Mark> marks = new LinkedHashMap<>(); // to be noted, by name
  private final Map<String, Long> firstRan = new HashMap<>(); // revisions that ran here first
  private final Set<String> failing = new HashSet<>(); // applications, by what was announced last
  private long lastAtStart; // revision
  private boolean queued;
  private boolean writing;

  RevisionMarks(Notes notes) {
    this.notes = notes;
  }

  /** Once, before the others: what was there at the start. */
  void open(DesiredState state) {
    state.applications().forEach(each -> lastAtStart = Math.max(lastAtStart, each.revision()));
  }

  void forget(String application) {
    firstRan.remove(application);
    failing.remove(application);
  }

  /** Applications that have failed to deploy, be that marked or not. */
  Set<String> failing() {
    return Set.copyOf(failing);
  }

  /**
   * @param wanted of the application; null when it is not there any more
   */
  void announced(Announce announce, @Nullable DesiredApplication wanted) {
    if (wanted != null && announce.status() == ApplicationStatus.DEPLOY_FAILED) {
      failing.add(wanted.name());
    } else {
      failing.remove(announce.application());
    }
    Mark mark =
        wanted == null || wanted.revision() != announce.revision() ? null : mark(announce, wanted);
    if (mark == null) {
      return;
    }
    marks.put(announce.application(), mark);
    if (!queued) {
      queued = true;
      notes.add(this::taken).onComplete(ended -> writing = false);
    }
  }

  private @Nullable Mark mark(Announce announce, DesiredApplication wanted) {
    if (announce.status() == ApplicationStatus.RUNNING) {
      Mark runs = new Mark(announce.revision(), null, announce.proven(), announce.ran());
      if (!announce.proven()) {
        return runs;
      }
      if (!wanted.healthy()) {
        if (announce.revision() > lastAtStart) { // it replaces another, and is on trial
          firstRan.put(wanted.name(), announce.revision());
        }
      } else if (!queued && !writing && wanted.ran().equals(announce.ran())) {
        return null; // it says so already
      }
      return runs;
    }
    // What ran in an earlier process has proved itself: it is not given up for a bad start.
    boolean proven =
        wanted.healthy() && !Long.valueOf(announce.revision()).equals(firstRan.get(wanted.name()));
    return announce.status() != ApplicationStatus.DEPLOY_FAILED || wanted.before() == null || proven
        ? null
        : new Mark(announce.revision(), announce.message());
  }

  private Function<DesiredState, Decision> taken() {
    Map<String, Mark> taken = Map.copyOf(marks);
    marks.clear();
    queued = false;
    writing = true;
    return state -> {
      DesiredChange change = state.mark(taken);
      return new Decision(change, change == null ? List.of() : serveInstead(state, change));
    };
  }

  /** What ran before serves on already, unless this process began with what failed. */
  private List<ControllerEvent> serveInstead(DesiredState state, DesiredChange change) {
    return change.applications().stream()
        .filter(each -> each.failed() != null && each.revision() <= lastAtStart)
        .<ControllerEvent>map(each -> new ControllerEvent.Declared(state.declared(each)))
        .toList();
  }
}
