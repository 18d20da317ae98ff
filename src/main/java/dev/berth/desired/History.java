package dev.berth.desired;

import dev.berth.config.InstanceOptions;
import dev.berth.desired.DesiredApplication.Before;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Revisions that ran earlier than the one before the wanted one, for as long as there is room. A
 * change need not name them: what an application's last revision was {@link
 * DesiredApplication#before} becomes a part of its history when another one takes that place. One
 * thread until it stands in a {@link DesiredState}, and not changed any more then.
 */
final class History {
  /** Characters of all entries together; beyond them the oldest go, of whatever application. */
  static final long MOST_CHARS = 16L << 20;

  private final Map<String, List<Before>> revisions; // by application, the newest first
  private long chars;
  private int keeps = InstanceOptions.DEFAULT_REVISIONS;
  private long forgotten; // revisions up to this one

  History() {
    revisions = new HashMap<>();
  }

  History(History other) {
    revisions = new HashMap<>(other.revisions);
    chars = other.chars;
    keeps = other.keeps;
    forgotten = other.forgotten;
  }

  /** Of all entries together. */
  long chars() {
    return chars;
  }

  /** Of an application, the newest first. */
  List<Before> of(String application) {
    return revisions.getOrDefault(application, List.of());
  }

  Map<String, List<Before>> all() {
    return Map.copyOf(revisions);
  }

  /** What ran before what is wanted, the newest first. */
  List<Before> earlier(DesiredApplication application) {
    List<Before> all = new ArrayList<>(of(application.name()));
    if (application.before() != null) {
      all.add(0, application.before());
    }
    return all;
  }

  /**
   * What a rollback of an application goes back to when it names no revision: the last that ran and
   * says something else. Null when there is none.
   */
  @Nullable Before rollbackTo(DesiredApplication application) {
    return earlier(application).stream()
        .filter(each -> !each.wanted().digest().equals(application.wanted().digest()))
        .findFirst()
        .orElse(null);
  }

  /** The lowest revision in it; null when it is empty. */
  @Nullable Long oldest() {
    return revisions.values().stream()
        .map(each -> each.get(each.size() - 1).revision())
        .min(Comparator.naturalOrder())
        .orElse(null);
  }

  /** Whether nothing was let go of since for want of room, or by another limit. */
  boolean keepsAsMuchAs(History earlier) {
    return forgotten == earlier.forgotten && keeps == earlier.keeps;
  }

  // --- what a change makes of it ---

  /**
   * What is kept from now on.
   *
   * @param most revisions that ran earlier, with the one before what is wanted
   * @param upTo revisions up to this one are not kept
   */
  void limit(int most, long upTo) {
    if (most != keeps || upTo > forgotten) {
      keeps = most;
      forgotten = Math.max(forgotten, upTo);
      all().forEach(this::put);
    }
  }

  /** An application is another from now on. */
  void changed(DesiredApplication was, DesiredApplication is) {
    Before last = was.before();
    if (last != null && (is.before() == null || is.before().revision() != last.revision())) {
      List<Before> all = new ArrayList<>(of(is.name()));
      all.add(0, last);
      put(is.name(), all);
      for (Long oldest = oldest(); chars > MOST_CHARS && oldest != null; oldest = oldest()) {
        forgotten = oldest;
        all().forEach(this::put);
      }
    }
  }

  /** In place of what is known of an application; none when it is gone. */
  void put(String application, List<Before> all) {
    List<Before> kept =
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
