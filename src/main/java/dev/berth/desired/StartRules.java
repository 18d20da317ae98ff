package dev.berth.desired;

import dev.berth.config.Declare;
import dev.berth.config.Origin;
import dev.berth.config.keys.Problem;
import dev.berth.desired.DesiredApplication.Wanted;
import dev.berth.desired.DesiredChange.Head;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * What a start makes of its file where something is kept: for each application, and for the target
 * capacity, the first {@link Row} that fits. A file is declared for what it says anew; what it said
 * before does not undo what commands have done since. The guide has the table.
 *
 * <p>It only decides: {@link #toDeclare} names what has to be read, {@link #refuse} takes back what
 * cannot be, and {@link #change} is what becomes of it.
 */
final class StartRules {

  /** What a start does with an item, and what is logged of it. */
  enum Row {
    /** The file says nothing new of it. */
    UNCHANGED(null, ""),
    /** The same, but it was deleted, and stays so. */
    DELETED(Level.WARN, "stays deleted, though the file says of it what it said before (%2$s)"),
    /** The file alone says something else: it is declared. */
    FILE_MOVED(Level.INFO, "declared, since %1$s"),
    /** The file says something else, and so did a command: it is declared. */
    BOTH_MOVED(Level.WARN, "declared, since %1$s; %3$s, which a command brought, gives way (%4$s)"),
    /** The file names it no longer, and no command spoke since: it goes. */
    DROPPED(Level.WARN, "%3$s is deleted: the file names it no longer (%5$s)"),
    /** The file names it no longer, but a command spoke since: it stays. */
    KEPT(Level.WARN, "%3$s stays, though the file names it no longer: a command brought it since");

    private final @Nullable Level level;
    private final String text;

    Row(@Nullable Level level, String text) {
      this.level = level;
      this.text = text;
    }

    boolean declares() {
      return this == FILE_MOVED || this == BOTH_MOVED;
    }
  }

  /** One line of the log. */
  record Line(Level level, String text) {}

  private static final String CAPACITY = "target_capacity";

  private final DesiredState kept;
  private final Declare mode;
  private final @Nullable String uri; // of the file
  private final boolean deletes; // it says which applications there are
  private final @Nullable Double capacity; // that it says
  private final Map<String, Wanted> says = new LinkedHashMap<>();
  private final Map<String, String> refused = new LinkedHashMap<>(); // why, by name

  /** What is wanted from then on, by application. */
  final Map<String, Wanted> declared = new LinkedHashMap<>();

  /** Why applications cannot be declared of which nothing is kept, by name. */
  final Map<String, String> failed = new LinkedHashMap<>();

  /** What is to be logged. */
  final List<Line> lines = new ArrayList<>();

  /**
   * @param kept what is kept; it stays as it is
   * @param mode of the rules; not {@link Declare#NEVER}
   * @param origin of what the file says; its entries that cannot be used are refused
   * @param capacity that the file says; null when it says nothing of it
   */
  StartRules(DesiredState kept, Declare mode, Origin origin, @Nullable Double capacity) {
    this.kept = kept;
    this.mode = mode;
    this.uri = origin.uri();
    this.capacity = capacity;
    boolean named = true;
    for (Origin.Refused each : origin.refused()) {
      String why =
          each.problems().stream().map(Problem::toString).collect(Collectors.joining("; "));
      if (each.name() != null) {
        refuse(each.name(), why);
      } else { // it may be any of them, so that none is missing
        named = false;
        lines.add(new Line(Level.ERROR, why + "; nothing is declared of it, and nothing deleted"));
      }
    }
    this.deletes = origin.namesApplications() && named;
  }

  /** The file says this of an application. */
  void says(String application, Wanted what) {
    if (!refused.containsKey(application)) {
      says.put(application, what);
    }
  }

  /** What the file says of an application cannot be used. */
  void refuse(String application, String why) {
    says.remove(application);
    refused.putIfAbsent(application, why);
  }

  /** Applications that are to be declared. */
  List<String> toDeclare() {
    return says.keySet().stream().filter(name -> item(name).row(mode).declares()).toList();
  }

  /**
   * An application, or the target capacity.
   *
   * @param says what the file says of it now; null for nothing
   * @param wanted of it; null when it is not there
   */
  private record Item(@Nullable String says, @Nullable String wanted, LastApplied applied) {
    Row row(Declare mode) {
      String start = applied.start();
      if (says == null) {
        return start == null || wanted == null
            ? Row.UNCHANGED
            : applied.isLastOf(LastApplied.START) ? Row.DROPPED : Row.KEPT;
      }
      if (mode == Declare.ALL) {
        return wanted == null || wanted.equals(says) ? Row.FILE_MOVED : Row.BOTH_MOVED;
      }
      if (says.equals(start) || says.equals(wanted) || says.equals(applied.last())) {
        return wanted == null ? Row.DELETED : Row.UNCHANGED;
      }
      return Objects.equals(start, applied.last()) ? Row.FILE_MOVED : Row.BOTH_MOVED;
    }

    LastApplied after(Row row) {
      if (says == null) {
        boolean isTakenBack = wanted == null && applied.start() != null;
        return isTakenBack ? LastApplied.NOTHING : applied.leftOut(LastApplied.START, false);
      }
      return row.declares() ? applied.submitted(says, LastApplied.START) : applied.unchanged(says);
    }
  }

  private Item item(String application) {
    Wanted what = says.get(application);
    DesiredApplication there = kept.find(application);
    return new Item(
        what == null ? null : what.digest(),
        there == null ? null : there.wanted().digest(),
        kept.lastApplied(application).startedWith(uri));
  }

  // --- what becomes of it ---

  /**
   * Everything; once, at the end.
   *
   * @param on what is kept by now: as it was, but for earlier revisions that gave way to jars
   * @return null when nothing is different
   */
  @Nullable DesiredChange change(DesiredState on, long nowMs) {
    refuseTakenRoutes();
    Set<String> deleted = new TreeSet<>();
    Map<String, LastApplied> applied = new LinkedHashMap<>();
    Set<String> names = new TreeSet<>(deletes ? kept.mentioned() : Set.of());
    names.addAll(says.keySet());
    names.removeAll(refused.keySet());
    for (String name : names) {
      Item item = item(name);
      Row row = item.row(mode);
      Wanted what = says.get(name);
      if (what != null && row.declares()) {
        declared.put(name, what);
      } else if (row == Row.DROPPED) {
        deleted.add(name);
      }
      applied.put(name, item.after(row));
      tell(row, name);
    }
    for (Map.Entry<String, String> each : refused.entrySet()) {
      DesiredApplication there = kept.find(each.getKey());
      String then =
          there == null ? "it is DEPLOY_FAILED" : revision(there) + " is kept, and serves";
      String line = "application %s: %s; %s".formatted(each.getKey(), each.getValue(), then);
      lines.add(new Line(Level.ERROR, line));
      if (there == null) {
        failed.put(each.getKey(), each.getValue());
      }
    }
    return on.change(declared, List.copyOf(deleted), applied, head(on.head()), nowMs);
  }

  private Head head(Head was) {
    if (!deletes && capacity == null) { // such a file says nothing of what is served
      return was;
    }
    Double now = was.targetCapacity();
    String what = capacity == null ? null : capacity.toString();
    String wanted = now == null ? null : now.toString();
    Item item = new Item(what, wanted, was.lastCapacity().startedWith(uri));
    Row row = item.row(mode);
    String set = "berth deploy " + file() + " --set target_capacity=%s sets it";
    String back = set.formatted(now);
    tell(row, CAPACITY, "the file says " + what, set.formatted(what), "" + now, back, back);
    return was.withCapacity(
        row.declares() ? capacity : row == Row.DROPPED ? null : now, item.after(row));
  }

  /** A route belongs to what stays there; what is refused stays where it was, and so on. */
  private void refuseTakenRoutes() {
    int before;
    do {
      before = refused.size();
      for (String name : toDeclare()) {
        String prefix = Objects.requireNonNull(says.get(name)).routePrefix();
        String other = kept.other(prefix, name);
        if (other != null && stays(other)) {
          String why = "route_prefix: \"%s\" (expected: unique; application %s stays there)";
          refuse(name, why.formatted(prefix, other));
        }
      }
    } while (refused.size() > before);
  }

  private boolean stays(String application) {
    Row row = item(application).row(mode);
    boolean goes = row == Row.DROPPED && deletes && !refused.containsKey(application);
    return !goes && !row.declares();
  }

  // --- the log ---

  private void tell(Row row, String name) {
    DesiredApplication there = kept.find(name);
    String file = file();
    tell(
        row,
        "application " + name,
        mode == Declare.ALL ? "berth.declare is all" : "the file says something new",
        "berth deploy %s --app %s brings it back".formatted(file, name),
        there == null ? "its delete" : revision(there),
        there == null ? "another one deletes it again" : back(there),
        "berth deploy of a file that names it brings it back");
  }

  /** The last five are what the text of a row may say. */
  private void tell(
      Row row, String item, String why, String redo, String there, String back, String again) {
    if (row.level != null) {
      String text = row.text.formatted(why, redo, there, back, again);
      lines.add(new Line(row.level, item + ": " + text));
    }
  }

  private static String revision(DesiredApplication there) {
    return "revision " + there.revision();
  }

  /** What brings back a revision that gives way. */
  private static String back(DesiredApplication there) {
    String rollback = "berth rollback %s brings %s back";
    DesiredApplication.Before before = there.before();
    return there.healthy()
        ? rollback.formatted(there.name(), "it")
        : before == null
            ? "it has not run: only a deploy brings it back"
            : "it has not run: "
                + rollback.formatted(there.name(), "revision " + before.revision());
  }

  /** For a command line. */
  private String file() {
    return uri == null ? "FILE" : URI.create(uri).getPath();
  }
}
