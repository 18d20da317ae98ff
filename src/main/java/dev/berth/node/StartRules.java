package dev.berth.node;

import dev.berth.config.Declare;
import dev.berth.controller.DesiredApplication;
import dev.berth.controller.DesiredApplication.Wanted;
import dev.berth.controller.DesiredState;
import dev.berth.controller.Said;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * What a start makes of its file where something is kept: for each application, and for the target
 * capacity, the first {@link Row} that fits. A file is declared for what it says anew; what it said
 * before does not undo what commands have done since. The guide has the table.
 *
 * <p>It only decides: {@link #toDeclare} names what has to be read, {@link #refuse} takes back what
 * cannot be, and {@link #plan} is what becomes of it.
 */
final class StartRules {

  /** What a start does with an item. */
  enum Row {
    /** The file says nothing of it, and never has, or there is nothing to delete. */
    UNNAMED,
    /** The file says what it said last, whatever came since. */
    UNCHANGED,
    /** The file says what is wanted already, or what was submitted since. */
    KNOWN,
    /** As one of the two, but it was deleted, and stays so. */
    DELETED,
    /** The file alone says something else: it is declared. */
    FILE_MOVED,
    /** The file says something else, and so did a command: it is declared. */
    BOTH_MOVED,
    /** The file names it no longer, and no command spoke since: it goes. */
    DROPPED,
    /** The file names it no longer, but a command spoke since: it stays. */
    KEPT;

    boolean declares() {
      return this == FILE_MOVED || this == BOTH_MOVED;
    }
  }

  /** One line of the log. */
  record Line(Level level, String text) {}

  /**
   * What a start does.
   *
   * @param declared what is wanted from now on, by application
   * @param deleted applications that go
   * @param said what was last said from now on, by application
   * @param failed applications of which nothing is kept and that cannot be declared, with the
   *     reason
   */
  record Plan(
      Map<String, Wanted> declared,
      Set<String> deleted,
      Map<String, Said> said,
      @Nullable Double capacity,
      Said saidCapacity,
      Map<String, String> failed,
      List<Line> lines) {}

  private static final String CAPACITY = "target_capacity";

  private final DesiredState kept;
  private final Declare mode;
  private final @Nullable String uri;
  private final boolean deletes;
  private final @Nullable Double capacity;
  private final Map<String, Wanted> says = new LinkedHashMap<>();
  private final Map<String, String> refused = new LinkedHashMap<>(); // why, by name
  private final List<Line> lines = new ArrayList<>();

  /**
   * @param kept what is kept; it stays as it is
   * @param mode of the rules; not {@link Declare#NEVER}
   * @param uri of the file; null when it has none
   * @param deletes whether the file says which applications there are
   * @param capacity that the file says; null when it says nothing of it
   */
  StartRules(
      DesiredState kept,
      Declare mode,
      @Nullable String uri,
      boolean deletes,
      @Nullable Double capacity) {
    this.kept = kept;
    this.mode = mode;
    this.uri = uri;
    this.deletes = deletes;
    this.capacity = capacity;
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
    return says.keySet().stream().filter(name -> row(name).declares()).toList();
  }

  /**
   * The row of an item.
   *
   * @param says what the file says of it now; null for nothing
   * @param wanted of it; null when it is not there
   * @param file what the file said of it last; null for nothing
   * @param last what was submitted last, by anyone; null for nothing
   */
  static Row row(
      @Nullable String says,
      @Nullable String wanted,
      @Nullable String file,
      @Nullable String last) {
    if (says == null) {
      return file == null || wanted == null
          ? Row.UNNAMED
          : file.equals(last) ? Row.DROPPED : Row.KEPT;
    }
    if (says.equals(file) || says.equals(wanted) || says.equals(last)) {
      return wanted == null ? Row.DELETED : says.equals(file) ? Row.UNCHANGED : Row.KNOWN;
    }
    return Objects.equals(file, last) ? Row.FILE_MOVED : Row.BOTH_MOVED;
  }

  private Row row(String application) {
    Wanted what = says.get(application);
    DesiredApplication there = kept.find(application);
    return row(
        what == null ? null : what.digest(),
        there == null ? null : there.wanted().digest(),
        kept.said(application));
  }

  private Row row(@Nullable String what, @Nullable String wanted, Said said) {
    if (mode == Declare.ALL && what != null) {
      return wanted == null || wanted.equals(what) ? Row.FILE_MOVED : Row.BOTH_MOVED;
    }
    return row(what, wanted, said.by(uri), said.last());
  }

  /** What is said of an item after its row. */
  private Said after(Row row, @Nullable String what, Said said) {
    String digest = Objects.requireNonNullElse(what, "");
    return switch (row) {
      case UNCHANGED, KNOWN, DELETED -> digest.equals(said.start()) ? said : said.noted(digest);
      case FILE_MOVED, BOTH_MOVED -> said.submitted(digest, Said.START);
      case DROPPED -> Said.NOTHING;
      case KEPT -> said.noted(null);
      case UNNAMED -> said.by(uri) == null ? said : Said.NOTHING;
    };
  }

  // --- what becomes of it ---

  /** Everything; once, at the end. */
  Plan plan() {
    refuseTakenRoutes();
    Map<String, Wanted> declared = new LinkedHashMap<>();
    Set<String> deleted = new TreeSet<>();
    Map<String, Said> said = new LinkedHashMap<>();
    Map<String, String> failed = new LinkedHashMap<>();
    Set<String> names = new TreeSet<>(deletes ? kept.mentioned() : Set.of());
    names.addAll(says.keySet());
    names.removeAll(refused.keySet());
    for (String name : names) {
      Row row = row(name);
      Wanted what = says.get(name);
      if (what != null && row.declares()) {
        declared.put(name, what);
      } else if (row == Row.DROPPED) {
        deleted.add(name);
      }
      said.put(name, after(row, what == null ? null : what.digest(), kept.said(name)));
      tell(row, name, kept.find(name));
    }
    refused.forEach(
        (name, why) -> {
          DesiredApplication there = kept.find(name);
          String then =
              there == null
                  ? "it is DEPLOY_FAILED"
                  : "revision " + there.revision() + ", which is kept, serves";
          line(Level.ERROR, "application " + name + ": " + why + "; " + then);
          if (there == null) {
            failed.put(name, why);
          }
        });
    String what = capacity == null ? null : capacity.toString();
    Double now = kept.targetCapacity();
    boolean silent = !deletes && capacity == null; // such a file is not one of applications
    Row row =
        silent ? Row.UNNAMED : row(what, now == null ? null : now.toString(), kept.saidCapacity());
    tell(row, now);
    return new Plan(
        declared,
        deleted,
        said,
        row.declares() ? capacity : row == Row.DROPPED ? null : now,
        silent ? kept.saidCapacity() : after(row, what, kept.saidCapacity()),
        failed,
        lines);
  }

  /** A route belongs to what stays there; what is refused stays where it was, and so on. */
  private void refuseTakenRoutes() {
    boolean again = true;
    while (again) {
      Map<String, String> taken = new LinkedHashMap<>(); // application, by route
      for (DesiredApplication each : kept.applications()) {
        if (!row(each.name()).declares()
            && !(deletes && row(each.name()) == Row.DROPPED && !refused.containsKey(each.name()))) {
          taken.put(String.valueOf(each.wanted().routePrefix()), each.name());
          taken.put(String.valueOf(each.serving().routePrefix()), each.name());
        }
      }
      again = false;
      for (String name : toDeclare()) {
        String prefix = Objects.requireNonNull(says.get(name)).routePrefix();
        String other = prefix == null ? null : taken.get(prefix);
        if (other != null) {
          refuse(
              name,
              "route_prefix: \""
                  + prefix
                  + "\" (expected: unique; application "
                  + other
                  + ", which stays, has it)");
          again = true;
        }
      }
    }
  }

  private void line(Level level, String text) {
    lines.add(new Line(level, text));
  }

  private void tell(Row row, String name, @Nullable DesiredApplication there) {
    String what = "application " + name + ": ";
    String revision = there == null ? "" : "revision " + there.revision();
    switch (row) {
      case UNNAMED, UNCHANGED, KNOWN -> {}
      case DELETED ->
          line(
              Level.WARN,
              what
                  + "stays deleted, as a command wanted it: the file says of it what it said before"
                  + " (berth deploy "
                  + file()
                  + " --app "
                  + name
                  + " brings it back)");
      case FILE_MOVED -> line(Level.INFO, what + "declared: " + reason());
      case BOTH_MOVED ->
          line(
              Level.WARN,
              what
                  + "declared: "
                  + reason()
                  + "; "
                  + (there == null
                      ? "a command has deleted it since"
                      : revision + ", which a command brought since, gives way" + way(there)));
      case DROPPED ->
          line(
              Level.WARN,
              what
                  + revision
                  + " is deleted: the file names it no longer (berth deploy of a file that does"
                  + " brings it back)");
      case KEPT ->
          line(
              Level.WARN,
              what
                  + revision
                  + " stays though the file names it no longer: a command deployed it since");
    }
  }

  private String reason() {
    return mode == Declare.ALL ? "berth.declare is all" : "the file says something new";
  }

  /** What brings back a revision that gives way. */
  private static String way(DesiredApplication there) {
    String command = " (berth rollback " + there.name() + " brings ";
    DesiredApplication.Before before = there.before();
    return there.healthy()
        ? command + "it back)"
        : before == null
            ? "; it has not run (only a deploy brings it back)"
            : "; it has not run" + command + "revision " + before.revision() + " back)";
  }

  private void tell(Row row, @Nullable Double now) {
    String deploy = " (berth deploy " + file() + " --set " + CAPACITY + "=";
    switch (row) {
      case UNNAMED, UNCHANGED, KNOWN -> {}
      case DELETED ->
          line(
              Level.WARN,
              CAPACITY
                  + ": stays unset, as a command wanted it: the file says what it said before"
                  + deploy
                  + capacity
                  + " brings it back)");
      case FILE_MOVED -> line(Level.INFO, CAPACITY + ": " + capacity + ", as the file says anew");
      case BOTH_MOVED ->
          line(
              Level.WARN,
              CAPACITY
                  + ": "
                  + capacity
                  + ", as the file says anew; "
                  + now
                  + ", which a command set since, gives way"
                  + deploy
                  + now
                  + " brings it back)");
      case DROPPED ->
          line(
              Level.WARN,
              CAPACITY
                  + ": "
                  + now
                  + " is unset: the file names it no longer"
                  + deploy
                  + now
                  + " brings it back)");
      case KEPT ->
          line(
              Level.WARN,
              CAPACITY
                  + ": "
                  + now
                  + " stays though the file names it no longer: a command set it since");
    }
  }

  /** For a command line. */
  private String file() {
    return uri == null ? "FILE" : URI.create(uri).getPath();
  }
}
