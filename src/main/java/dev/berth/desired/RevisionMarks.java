package dev.berth.desired;

import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.ServeControl.Decision;
import dev.berth.view.ApplicationStatus;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what has become of the revisions: those that ran can be had back later, and those that
 * failed are not tried again by a controller that starts anew, where one that ran before is to
 * serve. Belongs to the control loop.
 */
final class RevisionMarks {

  private final LatestNotes<String, Announce> notes; // by name
  private final Map<String, Long> firstRan = new HashMap<>(); // revisions that ran here first
  private final Set<String> failing = new HashSet<>(); // applications, by what was announced last
  private long lastAtStart; // revision

  RevisionMarks(
      CommandQueue queue, Function<Function<DesiredState, Decision>, Future<Boolean>> note) {
    notes = new LatestNotes<>(queue, marks -> note.apply(state -> decide(state, marks)));
  }

  /** Once, before the others: what was there at the start. */
  void open(DesiredState state) {
    state.applications().forEach(each -> lastAtStart = Math.max(lastAtStart, each.revision()));
  }

  void forget(String application) {
    firstRan.remove(application);
    failing.remove(application);
  }

  /** See {@link LatestNotes#again}. */
  void again() {
    notes.again();
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
    if (wanted != null && wanted.revision() == announce.revision() && isNews(announce, wanted)) {
      notes.add(announce.application(), announce);
    }
  }

  private boolean isNews(Announce announce, DesiredApplication wanted) {
    if (announce.status() == ApplicationStatus.RUNNING) {
      boolean first = announce.proven() && !wanted.healthy();
      if (first && announce.revision() > lastAtStart) { // it replaces another, and is on trial
        firstRan.put(wanted.name(), announce.revision());
      }
      boolean isKnown = !first && notes.isIdle() && wanted.ran().equals(announce.ran());
      return !announce.proven() || !isKnown;
    }
    // What ran in an earlier process has proved itself: it is not given up for a bad start.
    boolean proven =
        wanted.healthy() && !Long.valueOf(announce.revision()).equals(firstRan.get(wanted.name()));
    return announce.status() == ApplicationStatus.DEPLOY_FAILED
        && wanted.before() != null
        && !proven;
  }

  private Decision decide(DesiredState state, Map<String, Announce> marks) {
    DesiredChange change = state.mark(marks.values());
    return new Decision(change, change == null ? List.of() : serveInstead(state, change));
  }

  /** What ran before serves on already, unless this process began with what failed. */
  private List<ControllerEvent> serveInstead(DesiredState state, DesiredChange change) {
    return change.applications().stream()
        .filter(each -> each.failed() != null && each.revision() <= lastAtStart)
        .<ControllerEvent>map(each -> new ControllerEvent.Declared(state.declared(each)))
        .toList();
  }
}
