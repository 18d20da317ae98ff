package dev.berth.desired;

import dev.berth.config.ConfigOrigin;
import dev.berth.config.DeclareMode;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
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
 * Decides the effect of a configuration file at a start with persisted state. For each application,
 * and for the target capacity, the first {@link MergeRule} that fits applies. A start declares the
 * entries that are new in the file; unchanged entries do not undo later commands. The guide has the
 * table.
 *
 * <p><b>Inputs.</b> The rules compare three configurations of each item: the file's previous one,
 * the file's present one, and the last submitted one. {@link LastApplied} records the first and the
 * last.
 *
 * <p><b>Use.</b> The rules only decide. The caller first passes the entries of the file. {@link
 * #toDeclare} then names the entries that must be read; the caller refuses those that cannot be, by
 * {@link #refuse}. Finally {@link #change} returns the resulting change and fills {@link
 * #declared}, {@link #failed} and {@link #lines}.
 *
 * <p><b>Failure.</b> A refused entry changes nothing: a persisted application continues to serve,
 * and another one is DEPLOY_FAILED. An entry without a readable name may be any application, so the
 * file then deletes nothing.
 */
final class StartupMerge {

  /** The rule for an item, with its log text. */
  enum MergeRule {
    /** The file has no new entry of it. */
    UNCHANGED(null, ""),
    /** The same, but a command deleted it; it stays deleted. */
    DELETED(Level.WARN, "stays deleted, since its entry in the file is unchanged (%2$s)"),
    /** Only the file has a new entry: it is declared. */
    FILE_MOVED(Level.INFO, "declared, since %1$s"),
    /** Both the file and a command have changed it: the file's entry is declared. */
    BOTH_MOVED(Level.WARN, "declared, since %1$s; replaces %3$s of a command (%4$s)"),
    /** The file omits it, and no command has changed it since: it is deleted. */
    DROPPED(Level.WARN, "%3$s is deleted, since the file no longer names it (%5$s)"),
    /** The file omits it, but a command has changed it since: it stays. */
    KEPT(Level.WARN, "%3$s stays, though removed from the file: a command deployed it since");

    private final @Nullable Level level;
    private final String text;

    MergeRule(@Nullable Level level, String text) {
      this.level = level;
      this.text = text;
    }

    boolean declares() {
      return this == FILE_MOVED || this == BOTH_MOVED;
    }
  }

  /** A line for the log. */
  record MergeLogLine(Level level, String text) {}

  private static final String CAPACITY = "target_capacity";

  private final DesiredState kept;
  private final DeclareMode mode;
  private final @Nullable String uri; // of the file
  private final boolean deletes; // whether the file lists all applications
  private final @Nullable Double capacity; // in the file
  private final Map<String, ApplicationSpec> says = new LinkedHashMap<>();
  private final Map<String, String> refused = new LinkedHashMap<>(); // reasons, by name

  /** Desired configurations to declare, by application. */
  final Map<String, ApplicationSpec> declared = new LinkedHashMap<>();

  /** Reasons for refused applications without a persisted one, by name. */
  final Map<String, String> failed = new LinkedHashMap<>();

  /** Lines to log. */
  final List<MergeLogLine> lines = new ArrayList<>();

  /**
   * @param kept persisted state; not modified
   * @param mode of the rules; not {@link DeclareMode#NEVER}
   * @param origin origin of the file, with its invalid entries, which are refused
   * @param capacity target capacity in the file; null when absent
   */
  StartupMerge(
      DesiredState kept, DeclareMode mode, ConfigOrigin origin, @Nullable Double capacity) {
    this.kept = kept;
    this.mode = mode;
    this.uri = origin.uri();
    this.capacity = capacity;
    boolean named = true;
    for (ConfigOrigin.RefusedEntry each : origin.refused()) {
      String why =
          each.problems().stream().map(ConfigProblem::toString).collect(Collectors.joining("; "));
      if (each.name() != null) {
        refuse(each.name(), why);
      } else { // it may be any application, so none counts as missing
        named = false;
        lines.add(new MergeLogLine(Level.ERROR, why + "; not declared, and nothing deleted"));
      }
    }
    this.deletes = origin.namesApplications() && named;
  }

  /** Records the file's entry of an application. */
  void says(String application, ApplicationSpec what) {
    if (!refused.containsKey(application)) {
      says.put(application, what);
    }
  }

  /** Refuses the file's entry of an application. */
  void refuse(String application, String why) {
    says.remove(application);
    refused.putIfAbsent(application, why);
  }

  /** Returns the applications to declare. */
  List<String> toDeclare() {
    return says.keySet().stream().filter(name -> item(name).row(mode).declares()).toList();
  }

  /**
   * An application, or the target capacity.
   *
   * @param says digest or value in the file; null when absent
   * @param wanted digest or value in the state; null when absent
   */
  private record MergeItem(@Nullable String says, @Nullable String wanted, LastApplied applied) {
    MergeRule row(DeclareMode mode) {
      String start = applied.start();
      if (says == null) {
        return start == null || wanted == null
            ? MergeRule.UNCHANGED
            : applied.isLastOf(LastApplied.START) ? MergeRule.DROPPED : MergeRule.KEPT;
      }
      if (mode == DeclareMode.ALL) {
        return wanted == null || wanted.equals(says) ? MergeRule.FILE_MOVED : MergeRule.BOTH_MOVED;
      }
      if (says.equals(start) || says.equals(wanted) || says.equals(applied.last())) {
        return wanted == null ? MergeRule.DELETED : MergeRule.UNCHANGED;
      }
      return Objects.equals(start, applied.last()) ? MergeRule.FILE_MOVED : MergeRule.BOTH_MOVED;
    }

    LastApplied after(MergeRule row) {
      if (says == null) {
        boolean isTakenBack = wanted == null && applied.start() != null;
        return isTakenBack ? LastApplied.NOTHING : applied.leftOut(LastApplied.START, false);
      }
      return row.declares() ? applied.submitted(says, LastApplied.START) : applied.unchanged(says);
    }
  }

  private MergeItem item(String application) {
    ApplicationSpec what = says.get(application);
    DesiredApplication there = kept.find(application);
    return new MergeItem(
        what == null ? null : what.digest(),
        there == null ? null : there.wanted().digest(),
        kept.lastApplied(application).startedWith(uri));
  }

  // --- the resulting change ---

  /**
   * Returns the change of all items; called once, at the end.
   *
   * @param on state by now: the persisted one, possibly without earlier revisions that were removed
   *     for jars
   * @return null when nothing changes
   */
  @Nullable DesiredChange change(DesiredState on, long nowMs) {
    refuseTaken();
    Set<String> deleted = new TreeSet<>();
    Map<String, LastApplied> applied = new LinkedHashMap<>();
    Set<String> names = new TreeSet<>(deletes ? kept.mentioned() : Set.of());
    names.addAll(says.keySet());
    names.removeAll(refused.keySet());
    for (String name : names) {
      MergeItem item = item(name);
      MergeRule row = item.row(mode);
      ApplicationSpec what = says.get(name);
      if (what != null && row.declares()) {
        declared.put(name, what);
      } else if (row == MergeRule.DROPPED) {
        deleted.add(name);
      }
      applied.put(name, item.after(row));
      tell(row, name);
    }
    for (Map.Entry<String, String> each : refused.entrySet()) {
      DesiredApplication there = kept.find(each.getKey());
      String then =
          there == null ? "it is DEPLOY_FAILED" : revision(there) + " stays stored, and serves";
      String line = "application %s: %s; %s".formatted(each.getKey(), each.getValue(), then);
      lines.add(new MergeLogLine(Level.ERROR, line));
      if (there == null) {
        failed.put(each.getKey(), each.getValue());
      }
    }
    return on.change(declared, List.copyOf(deleted), applied, head(on.head), nowMs);
  }

  private Head head(Head was) {
    if (!deletes && capacity == null) { // a file without applications and capacity changes nothing
      return was;
    }
    Double now = was.targetCapacity();
    String what = capacity == null ? null : capacity.toString();
    String wanted = now == null ? null : now.toString();
    MergeItem item = new MergeItem(what, wanted, was.lastCapacity().startedWith(uri));
    MergeRule row = item.row(mode);
    String set = "berth deploy " + file() + " --set target_capacity=%s sets it";
    String back = set.formatted(now);
    tell(row, CAPACITY, "the file sets " + what, set.formatted(what), "" + now, back, back);
    return was.withCapacity(
        row.declares() ? capacity : row == MergeRule.DROPPED ? null : now, item.after(row));
  }

  /**
   * Refuses entries whose route or upstream belongs to a staying application. Repeats, as a refused
   * application stays on its own route.
   */
  private void refuseTaken() {
    int before;
    do {
      before = refused.size();
      for (String name : toDeclare()) {
        ApplicationSpec entry = Objects.requireNonNull(says.get(name));
        String prefix = entry.routePrefix();
        String other = kept.other(prefix, name);
        if (other != null && stays(other)) {
          String why = "route_prefix: \"%s\" (expected: unique; application %s has it)";
          refuse(name, why.formatted(prefix, other));
        }
        UpstreamOwners.of(kept, stays -> !stays.equals(name) && stays(stays))
            .conflicts(UpstreamOwners.paths(entry))
            .forEach(conflict -> refuse(name, conflict.toString()));
      }
    } while (refused.size() > before);
  }

  private boolean stays(String application) {
    MergeRule row = item(application).row(mode);
    boolean goes = row == MergeRule.DROPPED && deletes && !refused.containsKey(application);
    return !goes && !row.declares();
  }

  // --- the log ---

  private void tell(MergeRule row, String name) {
    DesiredApplication there = kept.find(name);
    String file = file();
    tell(
        row,
        "application " + name,
        mode == DeclareMode.ALL ? "berth.declare is all" : "the file changed",
        "berth deploy %s --app %s restores it".formatted(file, name),
        there == null ? "its deletion" : revision(there),
        there == null ? "another delete deletes it again" : back(there),
        "berth deploy of a file that names it restores it");
  }

  /** Logs a row; the last five parameters fill its text. */
  private void tell(
      MergeRule row,
      String item,
      String why,
      String redo,
      String there,
      String back,
      String again) {
    if (row.level != null) {
      String text = row.text.formatted(why, redo, there, back, again);
      lines.add(new MergeLogLine(row.level, item + ": " + text));
    }
  }

  private static String revision(DesiredApplication there) {
    return "revision " + there.revision();
  }

  /** Returns how to restore a replaced revision, for people. */
  private static String back(DesiredApplication there) {
    String rollback = "berth rollback %s restores %s";
    DesiredApplication.EarlierRevision before = there.before();
    return there.healthy()
        ? rollback.formatted(there.name(), "it")
        : before == null
            ? "it has not run: only a deploy restores it"
            : "it has not run: "
                + rollback.formatted(there.name(), "revision " + before.revision());
  }

  /** Returns the file's path for a command line. */
  private String file() {
    return uri == null ? "FILE" : URI.create(uri).getPath();
  }
}
