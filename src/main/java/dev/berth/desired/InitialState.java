package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.code.StartFailedException;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ClusterOptions;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigOrigin;
import dev.berth.config.DeclareMode;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeclaredApplication;
import dev.berth.desired.EntryReader.EntryReadResult;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The initial state of an instance, from the log and the configuration file. Blocks; used once. */
final class InitialState {
  private static final Logger LOG = LoggerFactory.getLogger(InitialState.class);

  private final StateLog log;
  private final EntryReader reader;
  private final LongSupplier nowMs;

  /** Entries that should run, or the reasons why they are invalid, by application. */
  final Map<String, EntryReadResult> read = new HashMap<>();

  /**
   * Applications of the file that cannot be declared and are not in the log. Operators see them
   * until the process ends, a delete or a deploy. They are not persisted.
   */
  final Map<String, DeclaredApplication> refused = new LinkedHashMap<>();

  private final Set<String> declared = new HashSet<>(); // names of applications from the file

  /** True if all declarations come from the file, as the log was empty. */
  boolean fromFile;

  /**
   * @param log not opened yet
   */
  InitialState(StateLog log, EntryReader reader, LongSupplier nowMs) {
    this.log = log;
    this.reader = reader;
    this.nowMs = nowMs;
  }

  /**
   * Opens the log and declares the file by the rules of a start.
   *
   * @param callers connecting nodes that had a controller before
   * @throws StartFailedException when the persisted state cannot be used
   */
  void begin(Supplier<List<FirstCaller>> callers) {
    log.open();
    // no code runs yet: jars of the history may be removed for those of the file
    reader.jars().begin(Set.of());
    long term = 0;
    try {
      term = adopt(callers);
      decide(callers);
    } catch (IOException failed) {
      throw new StartFailedException("state: " + StartFailedException.describe(failed));
    }
    reader.jars().begin(Set.of());
    reader.jars().removeUnused();
    DesiredChange next =
        log.state().nextTerm(reader.file().get(InstanceOptions.REVISION_HISTORY_LIMIT), term);
    if (log.note("controller term", next) == null) {
      throw new StartFailedException(
          "state: the controller term cannot be stored (expected: a writable state_dir)");
    }
    Map<String, ApplicationConfig> given =
        reader.file().applications().stream()
            .filter(each -> declared.contains(each.name()))
            .collect(Collectors.toMap(ApplicationConfig::name, each -> each));
    read.putAll(reader.readAnew(log.state().applications(), given, Map.of()));
  }

  /**
   * Adopts nodes of another state, if the operator has named that state.
   *
   * @return minimum term of the controller: above that of an earlier controller whose state was
   *     lost
   * @throws StartFailedException when another state or none was named; it lists the applications
   *     that would stop
   */
  private long adopt(Supplier<List<FirstCaller>> callers) throws IOException {
    Settings cluster = reader.file().find(InstanceOptions.CLUSTER);
    String named = cluster == null ? null : cluster.find(ClusterOptions.ADOPT);
    NodeRegistry own = log.state().nodes();
    long now = cluster == null ? 0 : TimeUnit.MILLISECONDS.toSeconds(nowMs.getAsLong());
    if (named == null || named.equals(own.cluster() + ":" + (own.generation() - 1))) {
      return now; // adopted by an earlier start
    }
    List<FirstCaller> all = callers.get();
    Set<String> ids = new TreeSet<>(all.stream().map(FirstCaller::cluster).toList());
    String id = ids.size() == 1 ? ids.iterator().next() : own.cluster();
    NodeRegistry next = own.adopting(id, all);
    String name = id + ":" + (next.generation() - 1);
    if (ids.size() > 1 || !named.equals(name)) {
      throw new StartFailedException(
          "--adopt: nodes of cluster ids %s connect: nothing was changed. This state has %s.%s (expected: --adopt=%s, to make them follow this state)"
              .formatted(ids, names(), stops(all), name));
    }
    LOG.warn("state: adopted as {}, generation {}: {}", id, next.generation(), stops(all));
    Objects.requireNonNull(log.propose(Objects.requireNonNull(log.state().nodes(next))));
    return all.stream().mapToLong(each -> each.term() + 1).reduce(now, Math::max);
  }

  private Set<String> names() {
    Set<String> names = new TreeSet<>();
    log.state()
        .applications()
        .forEach(each -> names.add(ServeControl.name(each.name(), each.revision())));
    return names;
  }

  private String stops(List<FirstCaller> callers) {
    StringBuilder text = new StringBuilder();
    for (FirstCaller each : callers) {
      Set<String> gone = new TreeSet<>(each.runs());
      gone.removeAll(each.cluster().equals(log.state().nodes().cluster()) ? names() : Set.of());
      text.append(" On ").append(each.node()).append(" stop or are replaced: ").append(gone);
    }
    return text.toString();
  }

  /** Declares the file by the {@link StartupMerge}; all other persisted applications stay. */
  private void decide(Supplier<List<FirstCaller>> callers) throws IOException {
    ConfigOrigin origin = reader.file().origin();
    DesiredState state = log.state();
    boolean nothingKept = state.applications().isEmpty();
    String never = whyNever(state, callers);
    DeclareMode mode =
        never == null ? reader.file().get(InstanceOptions.DECLARE) : DeclareMode.NEVER;
    boolean strict = nothingKept && mode != DeclareMode.NEVER; // errors fail the start itself
    if (strict && !origin.refused().isEmpty()) {
      throw new ConfigException(
          origin.refused().stream().flatMap(each -> each.problems().stream()).toList());
    }
    StartupMerge rules =
        new StartupMerge(state, mode, origin, reader.file().find(ServeConfig.TARGET_CAPACITY));
    for (ApplicationConfig each : reader.file().applications()) {
      take(each, strict, this::identifyOrKeep, rules);
    }
    if (mode == DeclareMode.NEVER) {
      LOG.info("state: file not declared: {}", never == null ? "berth.declare is never" : never);
    } else {
      declare(rules, strict);
    }
    if (log.isKept()) {
      LOG.info(
          "state: {} applications from {}", log.state().applications().size(), log.directory());
      new RouteRules(reader.file()).tell(log.state());
    } else if (log.directory() == null) {
      LOG.info("state: in memory only: deployed applications end with this process");
    } else {
      LOG.info("state: none yet: the first deploy creates {}", log.directory());
    }
  }

  /**
   * Returns why a control node ignores the applications of its file; null when it may declare them,
   * as without a cluster.
   */
  private @Nullable String whyNever(DesiredState state, Supplier<List<FirstCaller>> callers) {
    boolean isOfCluster = reader.file().find(InstanceOptions.CLUSTER) != null;
    if (isOfCluster && !state.applications().isEmpty()) {
      return "the cluster has applications";
    }
    if (state.nodes().standsBy() != null) {
      return "the controller stands by";
    }
    if (!isOfCluster || reader.file().applications().isEmpty()) {
      return null;
    }
    Set<String> others = new TreeSet<>(callers.get().stream().map(FirstCaller::cluster).toList());
    others.remove(state.nodes().cluster());
    return others.isEmpty()
        ? null
        : "nodes of cluster id %s connect (expected: of %s; its own state_dir, or a restart of those nodes)"
            .formatted(others, state.nodes().cluster());
  }

  private void declare(StartupMerge rules, boolean strict) throws IOException {
    boolean kept = log.isKept();
    Set<String> names = Set.copyOf(kept ? rules.toDeclare() : List.of());
    for (ApplicationConfig each : reader.file().applications()) {
      if (names.contains(each.name())) {
        take(each, strict, files -> keepWhole(files, strict), rules);
      }
    }
    DesiredChange change = rules.change(log.state(), nowMs.getAsLong());
    try {
      if (change != null) {
        Objects.requireNonNull(
            log.propose(log.state().chained(change)), "state: changed (expected: as read)");
      }
      declared.addAll(rules.declared.keySet());
      (kept ? rules.lines : List.<StartupMerge.MergeLogLine>of())
          .forEach(line -> LOG.atLevel(line.level()).log("state: {}", line.text()));
    } catch (IOException failed) { // the persisted applications serve
      if (strict) {
        throw failed;
      }
      LOG.error("state: file not declared: it cannot be stored: {}", failed.toString());
    }
    rules.failed.forEach(this::refuse);
    fromFile = strict && !declared.isEmpty();
  }

  private void refuse(String application, String why) {
    String config = // Ray's commands need an import path
        new JsonObject().put("name", application).put("import_path", "refused.at:start").encode();
    refused.put(
        application, DeclaredApplication.of(application, 0, null, config, nowMs.getAsLong()));
    read.put(application, new EntryReadResult(null, null, why));
  }

  /** Passes the file's entry of an application to the rules, or its refusal. */
  private static void take(
      ApplicationConfig application,
      boolean strict,
      DeclaredEntry.JarIdentifier jars,
      StartupMerge rules)
      throws IOException {
    try {
      rules.says(
          application.name(), DeclaredEntry.toSpec(application, jars.of(application.jars())));
    } catch (IOException failed) {
      if (strict) {
        throw failed;
      }
      rules.refuse(application.name(), StartFailedException.describe(failed));
    }
  }

  private List<Jar> identifyOrKeep(List<Path> files) throws IOException {
    return log.isKept() ? reader.jars().identify(files) : reader.jars().keep(files);
  }

  /**
   * Stores jars that replace others; a jar that was written partially is rejected.
   *
   * @param strict without earlier jars: the build then detects a damaged one
   */
  private List<Jar> keepWhole(List<Path> files, boolean strict) throws IOException {
    List<Jar> kept = reader.jars().keep(files);
    for (Jar jar : strict ? List.<Jar>of() : kept) {
      try (ZipFile zip = new ZipFile(reader.jars().path(jar).toFile())) {
        for (ZipEntry each : Collections.list(zip.entries())) {
          CheckedInputStream in = new CheckedInputStream(zip.getInputStream(each), new CRC32());
          in.transferTo(OutputStream.nullOutputStream());
          if (in.getChecksum().getValue() != each.getCrc()) {
            throw new ZipException(each.getName() + " does not match its checksum");
          }
        }
      } catch (IOException broken) {
        throw new IOException(
            jar.name() + ": " + broken.getMessage() + " (expected: a complete jar)", broken);
      }
    }
    return kept;
  }
}
