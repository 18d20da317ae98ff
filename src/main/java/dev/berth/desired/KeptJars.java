package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.protocol.port.CommandRefused;
import dev.berth.protocol.port.CommandRefused.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The jars of what is declared: beside the log once that is kept, and until then where they go with
 * the process. May block; one caller at a time.
 */
final class KeptJars implements JarStore.Spare {
  private static final Logger LOG = LoggerFactory.getLogger(KeptJars.class);

  private final StateLog log;
  private final TimeOfDay nowMs;
  private final JarDigests digests;
  private final long mostBytes;
  private @Nullable JarStore durable; // once the log is kept, or is about to be
  private @Nullable JarStore temporary; // once needed
  private final Set<Jar> lost = ConcurrentHashMap.newKeySet(); // wanted, and missing or damaged
  private @Nullable Set<Path> inUse; // while the command under way is
  private boolean tidied; // by it

  /**
   * @param nowMs milliseconds since 1970
   * @param mostBytes of all copies that are kept; {@link JarStore#MOST_BYTES}
   */
  KeptJars(StateLog log, TimeOfDay nowMs, long mostBytes) {
    this.log = log;
    this.nowMs = nowMs;
    this.mostBytes = mostBytes;
    this.digests = new JarDigests(nowMs);
  }

  private @Nullable JarStore durable() {
    return durable(log.isKept());
  }

  /** Null when there is none, and none is to be. */
  private @Nullable JarStore durable(boolean wanted) {
    Path directory = log.directory();
    if (durable == null && wanted && directory != null) {
      durable = JarStore.in(directory, digests, mostBytes);
    }
    return durable;
  }

  /** The log is prepared to keep a change: what was declared until now is to outlast it as well. */
  void prepare() throws IOException {
    JarStore kept = durable(true);
    if (kept != null && !log.isKept() && temporary != null) {
      for (Jar jar : jars(log.state())) {
        kept.takeOver(jar, temporary);
      }
    }
  }

  /** Keeps copies of jars. */
  List<Jar> keep(List<Path> files) throws IOException {
    return files.isEmpty() ? List.of() : store().keep(files, this);
  }

  /** What jars are, without keeping them. */
  List<Jar> identify(List<Path> files) throws IOException {
    return files.isEmpty() ? List.of() : store().identify(files);
  }

  private JarStore store() throws IOException {
    JarStore store = durable();
    if (store == null) {
      store = temporary == null ? JarStore.temporary(digests) : temporary;
      temporary = store;
    }
    return store;
  }

  /** Where the copy with this content is; null when there is none. */
  @Nullable Path find(String digest) throws IOException {
    durable();
    for (JarStore store : stores().toList()) {
      Path found = store.find(digest, nowMs.steadyMs());
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** The same, of what is named by it; what cannot be read is not there. */
  @Nullable Path kept(String digest) {
    try {
      return find(digest);
    } catch (IOException unreadable) {
      LOG.warn("state: no jar is found: {}", unreadable.toString());
      return null;
    }
  }

  /** As {@link dev.berth.protocol.port.JarShelf#begin}. */
  Path begin(long bytes) throws IOException {
    return store().begin(bytes, this);
  }

  /** As {@link dev.berth.protocol.port.JarShelf#take}. */
  void take(Path written, Jar jar) throws IOException {
    for (JarStore store : stores().filter(each -> each.receives(written)).toList()) {
      store.take(written, jar, this, nowMs.steadyMs());
      lost.remove(jar);
    }
  }

  /** Where the copy of a kept jar is. */
  Path path(Jar jar) {
    JarStore kept = durable();
    if (kept != null && (temporary == null || Files.exists(kept.path(jar)))) {
      return kept.path(jar);
    }
    return temporary == null ? Path.of(jar.name()) : temporary.path(jar);
  }

  /**
   * Where the copies of kept jars are, for those who load them.
   *
   * @throws CommandRefused when one is missing or damaged
   */
  List<Path> paths(List<Jar> jars) {
    durable();
    for (Jar jar : jars) {
      if (stores()
          .noneMatch(store -> store.isThere(jar) || store.copyAgain(jar, nowMs.steadyMs()))) {
        lost.add(jar);
        throw new CommandRefused(
            Kind.PRECONDITION,
            "jar %s (sha256 %s): missing or damaged here (expected: the kept copy; a cluster fetches it from a node that has it, else deploy it again)"
                .formatted(jar.name(), jar.digest()));
      }
    }
    jars.forEach(lost::remove);
    return jars.stream().map(this::path).toList();
  }

  /** As {@link #paths}, for those of these files that are copies of kept jars. */
  void requireWhole(List<Path> files) {
    paths(jars(log.state()).stream().filter(each -> files.contains(path(each))).toList());
  }

  /** Kept jars whose copies were found missing or damaged. Any thread. */
  Set<Jar> lost() {
    if (!lost.isEmpty()) {
      lost.retainAll(jars(log.state())); // a deploy or a delete may have ended the need
    }
    return lost;
  }

  private Stream<JarStore> stores() {
    return Stream.of(durable, temporary).filter(Objects::nonNull);
  }

  /**
   * A command begins, or has ended: what must stay until the next one begins.
   *
   * @param running copies that code may be loaded from; null when that is not known
   */
  void begin(@Nullable Set<Path> running) {
    durable();
    inUse = running;
    tidied = false;
    stores().forEach(JarStore::begin);
  }

  /**
   * What nothing needs goes, and then what ran earlier, the oldest first: that it did is written
   * down before it is done.
   *
   * @return whether there was anything
   */
  @Override
  public boolean makeRoom() {
    Long oldest = tidied ? log.state().history().oldest() : null;
    if (tidied && (oldest == null || inUse == null)) {
      return false;
    }
    if (oldest != null) {
      LOG.warn("state: no room: revisions up to {} that ran earlier are let go of", oldest);
      synchronized (log) { // a node may be committed beside the command
        if (log.note("what was let go of", log.state().forget(oldest)) == null) {
          return false; // they stay, and with them their jars
        }
      }
    }
    tidied = true;
    removeUnused();
    return true;
  }

  /** Of what is declared, what ran before it, and what is in use: not of what ran earlier. */
  @Override
  public @Nullable Set<Path> staying(JarStore store) {
    Set<Path> used = inUse;
    if (used == null) {
      return null;
    }
    removeUnused();
    Set<Path> staying = new HashSet<>(used);
    for (DesiredApplication each : log.state().applications()) {
      List<Jar> jars = new ArrayList<>(each.wanted().jars());
      if (each.before() != null) {
        jars.addAll(each.before().wanted().jars());
      }
      jars.forEach(jar -> staying.add(store.path(jar)));
    }
    return staying;
  }

  /** Removes copies that are neither declared, nor gone back to, nor in use. */
  void removeUnused() {
    Set<Path> used = inUse;
    if (used != null) {
      Set<Jar> jars = jars(log.state());
      stores()
          .forEach(
              each -> {
                Set<Path> needed = new HashSet<>(used);
                jars.forEach(jar -> needed.add(each.path(jar)));
                each.removeUnused(needed, nowMs.steadyMs());
              });
    }
  }

  /** Whether copies may not be needed any more that were until now. */
  static boolean frees(DesiredChange change, DesiredState before, DesiredState after) {
    return !change.removed().isEmpty()
        || !after.history().keepsAsMuchAs(before.history())
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
      state.history().earlier(known).forEach(each -> jars.addAll(each.wanted().jars()));
    }
    return jars;
  }

  void close() {
    if (temporary != null) {
      temporary.close();
    }
  }
}
