package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.code.StartFailedException;
import dev.berth.config.StateOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where {@link ServeControl} keeps its state: a directory that is made by the first accepted
 * change, or memory. May block; one caller at a time.
 *
 * <pre>
 *   ephemeral ---------------------------> memory
 *   no directory --------> none yet --first change--> held
 *   a directory ----------------------------------> held
 *   one that another instance holds ----> refused
 * </pre>
 */
public final class ServeControlStore {
  private static final Logger LOG = LoggerFactory.getLogger(ServeControlStore.class);

  /** Opens and holds a directory; null when another instance holds it. */
  @FunctionalInterface
  interface Opener {
    @Nullable StateStoreFiles hold(Path directory) throws IOException;
  }

  private final StateOptions options;
  private final Opener opener;
  private final JarDigests digests;
  private @Nullable StateStore store; // once held
  private @Nullable JarStore durable; // likewise
  private @Nullable JarStore temporary; // once needed
  private DesiredState declared = new DesiredState(); // of the command under way
  private @Nullable Set<Path> inUse; // likewise
  private boolean refused; // another instance holds the directory

  public ServeControlStore(StateOptions options, LongSupplier nowMs) {
    this(options, nowMs, StateStoreDisk::hold);
  }

  /**
   * @param nowMs milliseconds since 1970
   */
  ServeControlStore(StateOptions options, LongSupplier nowMs, Opener opener) {
    this.options = options;
    this.digests = new JarDigests(nowMs);
    this.opener = opener;
  }

  /**
   * Reads what was kept, if anything was.
   *
   * @param state an empty one
   * @throws StartFailedException when it is there and cannot be read
   */
  void open(DesiredState state) {
    if (options.ephemeral() || !Files.exists(options.directory())) {
      return;
    }
    try {
      hold(state);
    } catch (IOException failed) {
      throw new StartFailedException(
          "berth.state_dir: "
              + options.directory()
              + ": "
              + StartFailedException.describe(failed)
              + " (expected: a directory that can be read and written, or berth.ephemeral)");
    }
    if (refused) {
      LOG.warn(
          "state: {} is held by another instance: this one runs without it, and refuses changes",
          options.directory());
    }
  }

  private void hold(DesiredState state) throws IOException {
    StateStoreFiles files = opener.hold(options.directory());
    refused = files == null;
    if (files != null) {
      try {
        store = StateStore.open(files, state);
        durable = JarStore.in(options.directory(), digests);
      } catch (IOException | RuntimeException | Error failed) {
        try {
          files.close();
        } catch (IOException second) {
          failed.addSuppressed(second);
        }
        throw failed;
      }
    }
  }

  /** Whether the directory holds something, so that what is declared from now on is kept. */
  boolean isUsed() {
    return store != null && store.isUsed();
  }

  /** Where changes are kept; null when they are not. */
  @Nullable Path directory() {
    return options.ephemeral() || refused ? null : options.directory();
  }

  /**
   * A change is about to be made: there is a directory from now on, unless all is in memory.
   *
   * @throws IOException when there cannot be one; nothing is different then
   */
  void prepare(DesiredState state) throws IOException {
    if (options.ephemeral()) {
      return;
    }
    if (store == null) {
      DesiredState found = new DesiredState();
      hold(found);
      if (store != null && store.isUsed()) {
        store.close();
        store = null;
        durable = null;
        throw new IOException(
            "berth.state_dir: "
                + options.directory()
                + " was made by another instance meanwhile (expected: one for each instance)");
      }
      LOG.info("state: kept in {}", options.directory());
    }
    JarStore kept = durable;
    if (refused || kept == null) {
      throw new IOException(
          "berth.state_dir: "
              + options.directory()
              + " is held by another instance (expected: one for each instance)");
    }
    if (!isUsed() && temporary != null) {
      for (Jar jar : jars(state)) {
        kept.takeOver(jar, temporary);
      }
    }
  }

  /**
   * Keeps copies of jars.
   *
   * @param prepared whether {@link #prepare} was called, so that they are to be durable
   */
  List<Jar> keep(List<Path> files, boolean prepared) throws IOException {
    return files.isEmpty() ? List.of() : jars(prepared).keep(files, this::removeUnused);
  }

  /** What jars are, without keeping them. */
  List<Jar> identify(List<Path> files) throws IOException {
    return files.isEmpty() ? List.of() : jars(false).identify(files);
  }

  private JarStore jars(boolean prepared) throws IOException {
    if (durable != null && (prepared || isUsed())) {
      return durable;
    }
    if (temporary == null) {
      temporary = JarStore.temporary(digests);
    }
    return temporary;
  }

  /** Where the copy of a kept jar is. */
  Path path(Jar jar) {
    if (durable != null) {
      Path path = durable.path(jar);
      if (temporary == null || Files.exists(path)) {
        return path;
      }
    }
    return temporary == null ? Path.of(jar.name()) : temporary.path(jar);
  }

  /** Keeps a change, if changes are kept; {@link #prepare} was called. */
  void append(DesiredChange change, DesiredState before) throws IOException {
    if (store != null) {
      store.append(change, before::whole);
    }
  }

  /**
   * A command begins, or has ended: what must stay until the next one begins.
   *
   * @param state while it is under way
   * @param running copies that code may be loaded from; null when that is not known
   */
  void begin(DesiredState state, @Nullable Set<Path> running) {
    declared = state;
    inUse = running;
    Stream.of(durable, temporary).filter(Objects::nonNull).forEach(JarStore::begin);
  }

  /** Removes copies that are neither declared, nor gone back to, nor in use. */
  void removeUnused() {
    Set<Path> used = inUse;
    if (used != null) {
      Set<Jar> jars = jars(declared);
      Stream.of(durable, temporary)
          .filter(Objects::nonNull)
          .forEach(
              each -> {
                Set<Path> needed = new HashSet<>(used);
                jars.forEach(jar -> needed.add(each.path(jar)));
                each.removeUnused(needed);
              });
    }
  }

  /** Whether copies may not be needed any more that were until now. */
  static boolean frees(DesiredChange change, DesiredState before) {
    return !change.removed().isEmpty()
        || change.applications().stream()
            .anyMatch(
                each -> {
                  DesiredApplication known = before.find(each.name());
                  return known != null && !jars(each).containsAll(jars(known));
                });
  }

  private static Set<Jar> jars(DesiredState state) {
    Set<Jar> jars = new HashSet<>();
    state.applications().forEach(each -> jars.addAll(jars(each)));
    return jars;
  }

  private static Set<Jar> jars(DesiredApplication application) {
    Set<Jar> jars = new HashSet<>(application.wanted().jars());
    DesiredApplication.Before before = application.before();
    if (before != null) {
      jars.addAll(before.wanted().jars());
    }
    return jars;
  }

  void close() {
    try {
      if (store != null) {
        store.close();
      }
    } catch (IOException failed) {
      LOG.warn("state: {} does not close: {}", options.directory(), failed.toString());
    }
    if (temporary != null) {
      temporary.close();
    }
  }
}
