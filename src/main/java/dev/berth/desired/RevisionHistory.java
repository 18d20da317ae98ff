package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.desired.DesiredApplication.EarlierRevision;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Earlier revisions of all applications, without the {@link DesiredApplication#before} of each,
 * within a limit of characters. A change need not name them: when another revision becomes {@code
 * before}, the one it replaces enters the history. Confined to one thread until it is part of a
 * {@link DesiredState}, immutable afterwards.
 */
final class RevisionHistory {
  /**
   * Maximum number of characters of all entries; beyond it the oldest of any application are
   * removed.
   */
  static final long MAX_CHARS = 16L << 20;

  private final Map<String, List<EarlierRevision>> revisions; // by application, newest first

  /** The characters of all entries. */
  long chars;

  private int keeps = InstanceOptions.DEFAULT_REVISIONS;
  private long forgotten; // revisions up to this one were removed

  RevisionHistory() {
    revisions = new HashMap<>();
  }

  RevisionHistory(RevisionHistory other) {
    revisions = new HashMap<>(other.revisions);
    chars = other.chars;
    keeps = other.keeps;
    forgotten = other.forgotten;
  }

  /** Returns the history of an application, newest first. */
  List<EarlierRevision> of(String application) {
    return revisions.getOrDefault(application, List.of());
  }

  Map<String, List<EarlierRevision>> all() {
    return Map.copyOf(revisions);
  }

  /** Returns all revisions that ran before the wanted one, newest first. */
  List<EarlierRevision> earlier(DesiredApplication application) {
    List<EarlierRevision> all = new ArrayList<>(of(application.name()));
    if (application.before() != null) {
      all.add(0, application.before());
    }
    return all;
  }

  /**
   * Returns the default target of a rollback, which is the last revision that ran with another
   * configuration; null when there is none.
   */
  @Nullable EarlierRevision rollbackTo(DesiredApplication application) {
    return earlier(application).stream()
        .filter(each -> !each.wanted().digest().equals(application.wanted().digest()))
        .findFirst()
        .orElse(null);
  }

  /** Returns the lowest revision in the history; null when it is empty. */
  @Nullable Long oldest() {
    return revisions.values().stream()
        .map(each -> each.get(each.size() - 1).revision())
        .min(Comparator.naturalOrder())
        .orElse(null);
  }

  /** Returns whether no revision was removed since, to free space or by another limit. */
  boolean keepsAsMuchAs(RevisionHistory earlier) {
    return forgotten == earlier.forgotten && keeps == earlier.keeps;
  }

  // --- effects of a change ---

  /**
   * Changes the limits.
   *
   * @param most maximum number of earlier revisions per application, including {@code before}
   * @param upTo revisions up to this one are removed
   */
  void limit(int most, long upTo) {
    if (most != keeps || upTo > forgotten) {
      keeps = most;
      forgotten = Math.max(forgotten, upTo);
      all().forEach(this::put);
    }
  }

  /** Updates the history after a change of an application. */
  void recordChange(DesiredApplication was, DesiredApplication is) {
    EarlierRevision last = was.before();
    if (last != null && (is.before() == null || is.before().revision() != last.revision())) {
      List<EarlierRevision> all = new ArrayList<>(of(is.name()));
      all.add(0, last);
      put(is.name(), all);
      for (Long oldest = oldest(); chars > MAX_CHARS && oldest != null; oldest = oldest()) {
        forgotten = oldest;
        all().forEach(this::put);
      }
    }
  }

  /** Replaces the history of an application; an empty list removes it. */
  void put(String application, List<EarlierRevision> all) {
    List<EarlierRevision> kept =
        all.stream().limit(keeps - 1L).filter(each -> each.revision() > forgotten).toList();
    of(application).forEach(each -> chars -= each.wanted().config().length());
    kept.forEach(each -> chars += each.wanted().config().length());
    if (kept.isEmpty()) {
      revisions.remove(application);
    } else {
      revisions.put(application, kept);
    }
  }
}
