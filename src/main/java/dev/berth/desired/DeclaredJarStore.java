package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.code.JarRepository;
import dev.berth.config.ApplicationConfig;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The jars of all declared applications. They are stored beside the log once it is persisted, and
 * until then in a directory that is removed with the process.
 */
final class DeclaredJarStore extends JarRepository {
  private static final Logger LOG = LoggerFactory.getLogger(DeclaredJarStore.class);

  private final StateLog log;
  // needed jars that are missing or damaged
  private final Set<Jar> lost = ConcurrentHashMap.newKeySet();

  /**
   * @param nowMs milliseconds since 1970
   * @param maxBytes maximum size of all stored copies; {@link #MAX_BYTES}
   */
  DeclaredJarStore(StateLog log, TimeOfDay nowMs, long maxBytes) {
    super(nowMs, nowMs::steadyMs, maxBytes);
    this.log = log;
  }

  /**
   * Copies the jars to the log's directory before its first change, as all earlier declarations are
   * persisted with it.
   */
  void prepare() throws IOException {
    Path directory = log.directory();
    if (directory != null) {
      keepIn(directory);
      if (!log.isKept()) {
        persist(needed());
      }
    }
  }

  @Override
  public void begin(@Nullable Set<Path> running) {
    Path directory = log.directory();
    if (directory != null && log.isKept()) {
      keepIn(directory);
    }
    super.begin(running);
  }

  @Override
  public void take(Path written, Jar jar) throws IOException {
    super.take(written, jar);
    lost.remove(jar);
  }

  /** Returns a copy as {@link #find}; an unreadable jar counts as missing. */
  @Nullable Path findQuietly(String digest) {
    try {
      return find(digest);
    } catch (IOException unreadable) {
      LOG.warn("state: jars not listed: {}", unreadable.toString());
      return null;
    }
  }

  /**
   * Returns the paths of stored jars, to load them.
   *
   * @throws CommandRejectedException when one is missing or damaged
   */
  List<Path> paths(List<Jar> jars) {
    for (Jar jar : jars) {
      if (!isThere(jar)) {
        lost.add(jar);
        throw CommandRejectedException.precondition(
            "jar %s (sha256 %s): missing or damaged here (expected: the stored copy; a cluster fetches it from a node that has it, else deploy it again)",
            jar.name(), jar.digest());
      }
    }
    jars.forEach(lost::remove);
    return jars.stream().map(this::path).toList();
  }

  /** Returns the sources from which another node builds the code of an application. */
  BuildSource source(ApplicationConfig config) throws IOException {
    List<Path> paths = config.jars();
    // fails for a lost jar: otherwise the node would search a jar that no node has
    paths(needed().stream().filter(each -> paths.contains(path(each))).toList());
    List<Jar> jars = identify(paths);
    List<JarFile> files = new ArrayList<>();
    for (int at = 0; at < paths.size(); at++) {
      Jar jar = jars.get(at);
      files.add(new JarFile(jar.name(), jar.digest(), Files.size(paths.get(at))));
    }
    return new BuildSource(new JsonObject(config.portable()).encode(), files);
  }

  /** Returns needed jars whose copies are missing or damaged. Thread-safe. */
  Set<Jar> lostJars() {
    if (!lost.isEmpty()) {
      lost.retainAll(needed()); // a deploy or delete may have ended the need
    }
    return lost;
  }

  /** Returns the jars of all declared applications and of their earlier revisions. */
  @Override
  protected Set<Jar> needed() {
    return jars(log.state());
  }

  /**
   * Returns the jars of all declared applications and of their {@code before}, without those of the
   * history.
   */
  @Override
  protected Set<Jar> neededAlways() {
    removeUnused(); // frees disk space before a jar arrives
    Set<Jar> jars = new HashSet<>();
    for (DesiredApplication each : log.state().applications()) {
      jars.addAll(each.wanted().jars());
      if (each.before() != null) {
        jars.addAll(each.before().wanted().jars());
      }
    }
    return jars;
  }

  /** Removes the oldest earlier revision. The log records the removal before any jar is deleted. */
  @Override
  protected boolean releaseNeededJars() {
    Long oldest = log.state().history.oldest();
    if (oldest == null) {
      return false;
    }
    LOG.warn("state: no space: deleting earlier revisions up to {}", oldest);
    synchronized (log) { // a node may be committed beside the command
      // otherwise the jars stay
      return log.note("deletion of revisions", log.state().forget(oldest)) != null;
    }
  }

  /** Returns whether a change may have ended the need for some copies. */
  static boolean frees(DesiredChange change, DesiredState before, DesiredState after) {
    return !change.removed().isEmpty()
        || !after.history.keepsAsMuchAs(before.history)
        || change.applications().stream()
            .map(DesiredApplication::name)
            .anyMatch(each -> !jars(after, each).containsAll(jars(before, each)));
  }

  private static Set<Jar> jars(DesiredState state) {
    Set<Jar> jars = new HashSet<>();
    state.applications().forEach(each -> jars.addAll(jars(state, each.name())));
    return jars;
  }

  private static Set<Jar> jars(DesiredState state, String application) {
    Set<Jar> jars = new HashSet<>();
    DesiredApplication known = state.find(application);
    if (known != null) {
      jars.addAll(known.wanted().jars());
      state.history.earlier(known).forEach(each -> jars.addAll(each.wanted().jars()));
    }
    return jars;
  }
}
