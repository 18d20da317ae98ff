package dev.berth.node;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigException;
import dev.berth.config.ServeConfig;
import dev.berth.controller.DesiredApplication;
import dev.berth.controller.DesiredApplication.Wanted;
import dev.berth.controller.DesiredChange;
import dev.berth.controller.DesiredState;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
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
    nextTerm();
    state.applications().forEach(this::readKept);
  }

  /** Whether the file was taken. */
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

  /** The file wins when it says something else than the file that was declared last. */
  private void decide() throws IOException {
    Map<String, Wanted> declared =
        ServeControlInput.wanted(file.applications(), this::identifyOrKeep);
    String digest = ServeControlInput.digest(declared, file.targetCapacity());
    boolean empty = state.applications().isEmpty();
    fromFile = !declared.isEmpty() && (empty || !(isOf(digest) || isOf(digestAsBefore())));
    if (fromFile) {
      boolean kept = store.isUsed();
      Map<String, Wanted> wanted =
          kept
              ? ServeControlInput.wanted(file.applications(), jars -> store.keep(jars, true))
              : declared;
      keep(state.deploy(wanted, file.targetCapacity(), digest, nowMs.getAsLong()));
      if (!empty) {
        LOG.info("state: the applications of the file are declared: it says something new");
      }
    } else if (!empty) {
      LOG.info(
          "state: {} applications from {}{}",
          state.applications().size(),
          store.directory(),
          declared.isEmpty() ? "" : "; those of the file were declared before");
    }
  }

  private boolean isOf(String digest) {
    return digest.equals(state.file());
  }

  /** What an earlier version would have called the file. */
  private String digestAsBefore() throws IOException {
    return ServeControlInput.digest(
        ServeControlInput.wanted(file.applications(), JarStore::identifyAsBefore),
        file.targetCapacity());
  }

  /** One that is not kept does no harm while there is one instance. */
  private void nextTerm() {
    DesiredChange change = state.nextTerm();
    try {
      keep(change);
    } catch (IOException failed) {
      LOG.warn("state: the term of the controller is not kept: {}", failed.toString());
      state.apply(change);
    }
  }

  private List<DesiredApplication.Jar> identifyOrKeep(List<Path> jars) throws IOException {
    return store.isUsed() ? store.identify(jars) : store.keep(jars, false);
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

  private void readKept(DesiredApplication application) {
    String name = application.name();
    ApplicationConfig given = ofFile(name);
    if (fromFile && given != null) {
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
