package dev.berth.controller;

import dev.berth.controller.DesiredApplication.Wanted;
import dev.berth.controller.DesiredChange.Head;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is declared. A command asks it for the {@link DesiredChange} that it would make; the change
 * is made durable, and only then applied. So nothing is true here that a crash could take back, and
 * a command costs what it changes.
 *
 * <p>An entry that says what is wanted already keeps its revision and the replicas that were set
 * from outside. Another one gets the next revision, and its predecessor is remembered if it has
 * run: a rollback declares that anew, under a revision of its own. What is rolled back is
 * remembered in turn if it had run, so a second rollback goes forward again; otherwise there is
 * nothing to go back to. One step is kept.
 *
 * <p>A revision that failed after another had run is marked, and what ran before is to serve until
 * the next deploy: of something else, or of the same once more.
 *
 * <p>Not thread-safe: one command after the other.
 */
public final class DesiredState {

  private final Map<String, DesiredApplication> applications = new LinkedHashMap<>();
  private final Map<String, String> names = new HashMap<>(); // of applications, by route prefix
  private Head head = Head.FIRST;

  /** Everything that is declared, in the order of the first declaration. */
  public Collection<DesiredApplication> applications() {
    return Collections.unmodifiableCollection(applications.values());
  }

  /** As the controller is told of them, in the same order. */
  public List<DeclaredApplication> declared() {
    return applications.values().stream().map(this::declared).toList();
  }

  /** As the controller is told of one of them. */
  public DeclaredApplication declared(DesiredApplication application) {
    String prefix = application.serving().routePrefix();
    return application.declared(prefix == null ? null : at(prefix));
  }

  /** Null when there is none of that name. */
  public @Nullable DesiredApplication find(String application) {
    return applications.get(application);
  }

  /** The application that answers there, or null. */
  public @Nullable String at(String routePrefix) {
    return names.get(routePrefix);
  }

  /** Percent of the replicas that run; null when nothing was said of it. */
  public @Nullable Double targetCapacity() {
    return head.targetCapacity();
  }

  /** Digest of the applications last declared from a file; empty when none were. */
  public String file() {
    return head.file();
  }

  /** Of the controller that ran last; 0 when none did. */
  public long term() {
    return head.term();
  }

  // --- commands: what they would change; null when they change nothing ---

  /**
   * Everything is declared: what is not named goes.
   *
   * @param wanted by name
   * @param file digest of the file that says it; null when it was submitted in another way
   */
  public @Nullable DesiredChange deploy(
      Map<String, Wanted> wanted,
      @Nullable Double targetCapacity,
      @Nullable String file,
      long nowMs) {
    List<String> removed =
        applications.keySet().stream().filter(name -> !wanted.containsKey(name)).toList();
    return change(
        wanted,
        removed,
        new Head(head.revision(), head.term(), targetCapacity, file == null ? head.file() : file),
        nowMs);
  }

  /** One application is declared, and the others stay. */
  public @Nullable DesiredChange deploy(String application, Wanted wanted, long nowMs) {
    return change(Map.of(application, wanted), List.of(), head, nowMs);
  }

  private @Nullable DesiredChange change(
      Map<String, Wanted> wanted, List<String> removed, Head next, long nowMs) {
    List<DesiredApplication> changed = new ArrayList<>();
    long revision = head.revision();
    for (Map.Entry<String, Wanted> each : wanted.entrySet()) {
      DesiredApplication known = applications.get(each.getKey());
      if (known == null) {
        changed.add(first(each.getKey(), each.getValue(), ++revision, nowMs));
      } else if (!known.wanted().digest().equals(each.getValue().digest())) {
        changed.add(known.changed(each.getValue(), ++revision, nowMs));
      } else if (known.failed() != null) {
        changed.add(known.triedAgain());
      }
    }
    return unlessEmpty(new DesiredChange(changed, removed, next.withRevision(revision)));
  }

  private static DesiredApplication first(String name, Wanted wanted, long revision, long nowMs) {
    return new DesiredApplication(name, wanted, revision, nowMs, false, null, Map.of(), null);
  }

  /** Every application goes. */
  public @Nullable DesiredChange deleteAll() {
    return unlessEmpty(new DesiredChange(List.of(), List.copyOf(applications.keySet()), head));
  }

  /** An application, which must be there, goes. */
  public DesiredChange delete(String application) {
    require(application);
    return new DesiredChange(List.of(), List.of(application), head);
  }

  /** The replicas of a deployment of an application, which must be there, are set from outside. */
  public @Nullable DesiredChange scale(String application, String deployment, int replicas) {
    DesiredApplication known = require(application);
    return Integer.valueOf(replicas).equals(known.scales().get(deployment))
        ? null
        : new DesiredChange(List.of(known.scaled(deployment, replicas)), List.of(), head);
  }

  /**
   * What ran before is declared anew; null when nothing of an application, which must be there,
   * did.
   */
  public @Nullable DesiredChange rollback(String application, long nowMs) {
    DesiredApplication known = require(application);
    DesiredApplication.Before before = known.before();
    if (before == null) {
      return null;
    }
    long revision = head.revision() + 1;
    DesiredApplication back = known.changed(before.wanted(), revision, nowMs);
    DesiredApplication once =
        known.healthy() // else it would be its own predecessor
            ? back
            : first(application, before.wanted(), revision, nowMs);
    return new DesiredChange(List.of(once), List.of(), head.withRevision(revision));
  }

  /**
   * What has become of a revision.
   *
   * @param failure why it failed; null when it runs
   */
  public record Mark(long revision, @Nullable String failure) {}

  /**
   * What has become of these applications; revisions that are not wanted any more are passed over,
   * and failures of those before which nothing ran.
   *
   * @param marks by application
   */
  public @Nullable DesiredChange mark(Map<String, Mark> marks) {
    List<DesiredApplication> marked = new ArrayList<>();
    marks.forEach(
        (name, mark) -> {
          DesiredApplication known = applications.get(name);
          if (known == null || known.revision() != mark.revision()) {
            return;
          }
          if (mark.failure() == null) {
            if (!known.healthy()) {
              marked.add(known.ran());
            }
          } else if (known.before() != null && known.failed() == null) {
            marked.add(known.failed(mark.failure()));
          }
        });
    return unlessEmpty(new DesiredChange(marked, List.of(), head));
  }

  /** A controller starts: its term is the next one. */
  public DesiredChange nextTerm() {
    return new DesiredChange(List.of(), List.of(), head.withTerm(head.term() + 1));
  }

  private @Nullable DesiredChange unlessEmpty(DesiredChange change) {
    return change.isEmpty(head) ? null : change;
  }

  private DesiredApplication require(String application) {
    return Objects.requireNonNull(
        applications.get(application),
        "application: " + application + " (expected: a declared one)");
  }

  // --- what has become true ---

  /** A change is durable. */
  public void apply(DesiredChange change) {
    change.removed().forEach(this::remove);
    for (DesiredApplication each : change.applications()) {
      forgetRoute(applications.put(each.name(), each));
    }
    for (DesiredApplication each : change.applications()) {
      if (each.wanted().routePrefix() != null) {
        names.put(each.wanted().routePrefix(), each.name());
      }
    }
    head = change.head();
  }

  private void remove(String name) {
    forgetRoute(applications.remove(name));
  }

  private void forgetRoute(@Nullable DesiredApplication gone) {
    if (gone != null && gone.wanted().routePrefix() != null) {
      names.remove(gone.wanted().routePrefix(), gone.name());
    }
  }

  /** The change that makes a new state like this one. */
  public DesiredChange whole() {
    return new DesiredChange(List.copyOf(applications.values()), List.of(), head);
  }
}
