package dev.berth.desired;

import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.ServeControl.CommandDecision;
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
 * Records the outcome of revisions. A revision that ran can be restored later. A failed one is not
 * retried by a new controller when an earlier one can serve instead. Confined to the control loop.
 */
final class RevisionOutcomeRecorder {

  private final CoalescingWriter<String, Announce> notes; // by application
  // revisions whose first run was in this process
  private final Map<String, Long> firstRan = new HashMap<>();
  // applications whose last state was a failed deploy
  private final Set<String> failing = new HashSet<>();
  private long lastAtStart; // highest revision at the start

  RevisionOutcomeRecorder(
      CommandQueue queue, Function<Function<DesiredState, CommandDecision>, Future<Boolean>> note) {
    notes = new CoalescingWriter<>(queue, marks -> note.apply(state -> decide(state, marks)));
  }

  /** Records the applications of the start; called once, before the other methods. */
  void open(DesiredState state) {
    state.applications().forEach(each -> lastAtStart = Math.max(lastAtStart, each.revision()));
  }

  void forget(String application) {
    firstRan.remove(application);
    failing.remove(application);
  }

  /** See {@link CoalescingWriter#again}. */
  void again() {
    notes.again();
  }

  /** Returns the applications that failed to deploy, marked or not. */
  Set<String> failing() {
    return Set.copyOf(failing);
  }

  /**
   * @param wanted the application; null when it was removed
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
      if (first && announce.revision() > lastAtStart) { // it replaces another one and is on trial
        firstRan.put(wanted.name(), announce.revision());
      }
      boolean isKnown = !first && notes.isIdle() && wanted.ran().equals(announce.ran());
      return !announce.proven() || !isKnown;
    }
    // A revision that ran in an earlier process is proven: a failed start does not mark it as
    // failed.
    boolean proven =
        wanted.healthy() && !Long.valueOf(announce.revision()).equals(firstRan.get(wanted.name()));
    return announce.status() == ApplicationStatus.DEPLOY_FAILED
        && wanted.before() != null
        && !proven;
  }

  private CommandDecision decide(DesiredState state, Map<String, Announce> marks) {
    DesiredChange change = state.mark(marks.values());
    return new CommandDecision(change, change == null ? List.of() : serveInstead(state, change));
  }

  /**
   * Declares the previous revisions of failed ones that this process started with; otherwise the
   * previous one still serves.
   */
  private List<ControllerEvent> serveInstead(DesiredState state, DesiredChange change) {
    return change.applications().stream()
        .filter(each -> each.failed() != null && each.revision() <= lastAtStart)
        .<ControllerEvent>map(each -> new ControllerEvent.Declared(state.declared(each)))
        .toList();
  }
}
