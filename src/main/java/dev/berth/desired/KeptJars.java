package dev.berth.desired;

import dev.berth.code.Jar;
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

/**
 * The jars of what is declared: beside the log once that is kept, and until then where they go with
 * the process. May block; one caller at a time.
 */
final class KeptJars {
  private final StateLog log;
  private final JarDigests digests;
  private @Nullable JarStore durable; // once the log is kept, or is about to be
  private @Nullable JarStore temporary; // once needed
  private @Nullable Set<Path> inUse; // while the command under way is

  /**
   * @param nowMs milliseconds since 1970
   */
  KeptJars(StateLog log, LongSupplier nowMs) {
    this.log = log;
    this.digests = new JarDigests(nowMs);
  }

  private @Nullable JarStore durable() {
    if (durable == null && log.isKept()) {
      durable = JarStore.in(Objects.requireNonNull(log.directory()), digests, JarStore.MOST_BYTES);
    }
    return durable;
  }

  /** The log is prepared to keep a change: what was declared until now is to outlast it as well. */
  void prepare() throws IOException {
    Path directory = log.directory();
    if (directory == null) {
      return; // in memory
    }
    JarStore kept = durable();
    if (kept == null) {
      kept = JarStore.in(directory, digests, JarStore.MOST_BYTES);
      durable = kept;
    }
    if (!log.isKept() && temporary != null) {
      for (Jar jar : jars(log.state())) {
        kept.takeOver(jar, temporary);
      }
    }
  }

  /** Keeps copies of jars. */
  List<Jar> keep(List<Path> files) throws IOException {
    return files.isEmpty() ? List.of() : store().keep(files, this::removeUnused);
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

  /** Where the copy of a kept jar is. */
  Path path(Jar jar) {
    JarStore kept = durable();
    if (kept != null && (temporary == null || Files.exists(kept.path(jar)))) {
      return kept.path(jar);
    }
    return temporary == null ? Path.of(jar.name()) : temporary.path(jar);
  }

  List<Path> paths(List<Jar> jars) {
    return jars.stream().map(this::path).toList();
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
    stores().forEach(JarStore::begin);
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
    if (temporary != null) {
      temporary.close();
    }
  }
}
