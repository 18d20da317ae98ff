package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.code.StartFailedException;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.Declare;
import dev.berth.config.Origin;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DesiredApplication.Wanted;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What an instance begins with: what is kept, or what its file says. Blocks; used once. */
final class ServeControlStart {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControlStart.class);

  private final ServeConfig file;
  private final ServeControlStore store;
  private final DesiredState state;
  private final LongSupplier nowMs;
  private final Map<String, ApplicationConfig> read = new HashMap<>();
  private final Map<String, String> unreadable = new HashMap<>();
  private final Set<String> declared = new HashSet<>(); // of the file, by name
  private boolean fromFile;

  /**
   * @param state an empty one, that becomes what is declared
   */
  ServeControlStart(
      ServeConfig file, ServeControlStore store, DesiredState state, LongSupplier nowMs) {
    this.file = file;
    this.store = store;
    this.state = state;
    this.nowMs = nowMs;
  }

  /**
   * @throws StartFailedException when what is kept cannot be used
   */
  void begin() {
    store.open(state);
    try {
      decide();
    } catch (IOException failed) {
      throw new StartFailedException("state: " + StartFailedException.describe(failed));
    }
    store.begin(state, Set.of()); // nothing runs yet
    store.removeUnused();
    keepOrApply(state.nextTerm(), "the term of the controller"); // there is one instance
    state.applications().forEach(this::readKept);
  }

  /** Whether all that is declared is what the file says, since nothing was kept. */
  boolean fromFile() {
    return fromFile;
  }

  /** Configurations of what is declared, by application. */
  Map<String, ApplicationConfig> read() {
    return read;
  }

  /** Why there is none of the others, by application. */
  Map<String, String> unreadable() {
    return unreadable;
  }

  /** What is kept runs, but for what the {@link StartRules} make of the file. */
  private void decide() throws IOException {
    Origin origin = file.origin();
    Declare mode = file.berth().state().declare();
    boolean nothingKept = state.applications().isEmpty();
    boolean strict = nothingKept && mode != Declare.NEVER; // who starts it, is told
    if (strict && !origin.refused().isEmpty()) {
      throw new ConfigException(
          origin.refused().stream().flatMap(each -> each.problems().stream()).toList());
    }
    StartRules rules = new StartRules(state, mode, origin, file.targetCapacity());
    Map<String, Wanted> says = new HashMap<>();
    for (ApplicationConfig each : file.applications()) {
      take(each, rules, strict, this::identifyOrKeep).ifPresent(it -> says.put(each.name(), it));
    }
    if (state.earlier() != null) {
      boolean all = origin.refused().isEmpty() && says.size() == file.applications().size();
      keepOrApply(EarlierState.renew(state, file, all ? says : null, store), "its form of today");
    }
    if (mode == Declare.NEVER) {
      LOG.info("state: nothing of the file is declared: berth.declare is never");
    } else {
      declare(rules, strict);
    }
    if (store.isUsed()) {
      LOG.info("state: {} applications from {}", state.applications().size(), store.directory());
    }
  }

  private void declare(StartRules rules, boolean strict) throws IOException {
    boolean kept = store.isUsed();
    for (String name : kept ? rules.toDeclare() : List.<String>of()) {
      take(Objects.requireNonNull(ofFile(name)), rules, strict, jars -> keepWhole(jars, strict));
    }
    if (keepOrGoOn(rules.change(nowMs.getAsLong()), strict)) {
      declared.addAll(rules.declared().keySet());
      (kept ? rules.lines() : List.<StartRules.Line>of())
          .forEach(line -> LOG.atLevel(line.level()).log("state: {}", line.text()));
    }
    rules.failed().keySet().forEach(name -> state.refuse(name, nowMs.getAsLong()));
    unreadable.putAll(rules.failed());
    fromFile = strict && !declared.isEmpty();
  }

  /** What the file says of an application, or that it cannot be used. */
  private static Optional<Wanted> take(
      ApplicationConfig application, StartRules rules, boolean strict, ServeControlInput.Jars jars)
      throws IOException {
    try {
      Wanted what = ServeControlInput.wanted(application, jars.of(application.jars()));
      rules.says(application.name(), what);
      return Optional.of(what);
    } catch (IOException unusable) {
      if (strict) {
        throw unusable;
      }
      rules.refuse(application.name(), StartFailedException.describe(unusable));
      return Optional.empty();
    }
  }

  private List<Jar> identifyOrKeep(List<Path> jars) throws IOException {
    return store.isUsed() ? store.identify(jars) : store.keep(jars, false);
  }

  /**
   * Keeps jars that take the place of others; one of which only a part was written does not.
   *
   * @param strict there are no others: who reads their code finds out
   */
  private List<Jar> keepWhole(List<Path> jars, boolean strict) throws IOException {
    List<Jar> kept = store.keep(jars, true);
    for (Jar jar : strict ? List.<Jar>of() : kept) {
      try (ZipFile zip = new ZipFile(store.path(jar).toFile())) {
        for (ZipEntry each : Collections.list(zip.entries())) {
          CheckedInputStream in = new CheckedInputStream(zip.getInputStream(each), new CRC32());
          in.transferTo(OutputStream.nullOutputStream());
          if (in.getChecksum().getValue() != each.getCrc()) {
            throw new ZipException(each.getName() + " does not fit its checksum");
          }
        }
      } catch (IOException broken) {
        throw new IOException(
            jar.name() + ": " + broken.getMessage() + " (expected: a whole jar)", broken);
      }
    }
    return kept;
  }

  /** A change that does no harm if it is not kept: the next start makes it again. */
  private void keepOrApply(DesiredChange change, String what) {
    try {
      keep(change);
    } catch (IOException failed) {
      LOG.warn("state: {} is not kept: {}", what, failed.toString());
      state.apply(change);
    }
  }

  /** What a start changes is kept if anything was kept before. */
  private void keep(@Nullable DesiredChange change) throws IOException {
    if (change != null) {
      if (store.isUsed()) {
        store.append(change, state);
      }
      state.apply(change);
    }
  }

  /** Whether it could be kept; what was kept before serves otherwise. */
  private boolean keepOrGoOn(@Nullable DesiredChange change, boolean strict) throws IOException {
    try {
      keep(change);
      return true;
    } catch (IOException failed) {
      if (strict) {
        throw failed;
      }
      LOG.error(
          "state: nothing of the file is declared, since it cannot be kept: {}", failed.toString());
      return false;
    }
  }

  private void readKept(DesiredApplication application) {
    String name = application.name();
    ApplicationConfig given = ofFile(name);
    if (given != null && declared.contains(name)) {
      read.put(
          name, given.withJars(application.wanted().jars().stream().map(store::path).toList()));
      return;
    }
    try {
      read.put(name, ServeControlInput.read(name, application.wanted(), store::path, file));
    } catch (ConfigException refused) {
      LOG.error("state: application {}: {}", name, refused.getMessage());
      unreadable.put(name, refused.getMessage());
    }
  }

  private @Nullable ApplicationConfig ofFile(String name) {
    return file.applications().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElse(null);
  }
}
