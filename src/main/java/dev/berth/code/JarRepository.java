package dev.berth.code;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Store of copies of jars, by content. A later write to a jar affects neither the code that runs
 * from its copy nor a rollback to it. Equal code has equal bytes. Methods block; one caller at a
 * time.
 *
 * <p><b>Place.</b> The state's directory once it is set ({@link #keepIn}), before that a temporary
 * directory that is removed with the process. Copies are found in both.
 *
 * <p><b>Lifetime.</b> A copy is retained while the owner {@link #needed needs} it, while code may
 * be loaded from it, and until the command that stored it ends. It is also retained for an hour
 * after another node or a client sent or requested it.
 */
public class JarRepository {
  private static final Logger LOG = LoggerFactory.getLogger(JarRepository.class);
  private static final String COPYING = "copying.tmp";
  private static final String RECEIVED = "received-";
  private static final String COPY = ".+-[0-9a-f]{32}\\.jar";
  private static final Predicate<Path> ALL = copy -> true;

  /** Maximum total size of all copies in bytes. */
  public static final long MAX_BYTES = 8L << 30;

  /** Minimum retention of a jar after it was received or found, even when nothing needs it. */
  public static final Duration RETENTION = Duration.ofHours(1);

  private record RetainedJar(String digest, long atMs) {}

  private final LongSupplier steadyMs;
  private final long maxBytes;
  private final JarDigests digests;
  private final List<Path> directories = new ArrayList<>(); // the first receives new copies
  private @Nullable Path temporary; // one of them
  private @Nullable Set<Path> inUse = Set.of();
  private final Set<Path> kept = new HashSet<>(); // by the current command
  private final Map<Path, RetainedJar> taken = new HashMap<>();
  private final Set<Path> receiving = new HashSet<>();
  private boolean tidied; // by the current command

  /**
   * Creates a repository without a directory.
   *
   * @param nowMs milliseconds since 1970
   * @param steadyMs milliseconds of a monotonic clock, for ages only
   * @param maxBytes maximum total size of all copies, {@link #MAX_BYTES}
   */
  public JarRepository(LongSupplier nowMs, LongSupplier steadyMs, long maxBytes) {
    this.steadyMs = steadyMs;
    this.maxBytes = maxBytes;
    this.digests = new JarDigests(nowMs);
  }

  /** Stores new copies in a directory of the state from now on. */
  public final void keepIn(Path stateDirectory) {
    Path directory = stateDirectory.resolve("jars");
    if (!directories.contains(directory)) {
      directories.add(0, directory);
      digests.keepIn(directory.resolve("digests"));
    }
  }

  private Path directory() throws IOException {
    if (directories.isEmpty()) {
      temporary = Files.createTempDirectory("berth-jars-");
      directories.add(temporary);
    }
    PrivateFiles.createDirectories(directories.get(0));
    return directories.get(0);
  }

  // --- the owner ---

  /** Returns the jars whose copies are retained. */
  protected Set<Jar> needed() {
    return Set.of();
  }

  /** Returns the needed jars that {@link #releaseNeededJars} never drops. */
  protected Set<Jar> neededAlways() {
    return Set.of();
  }

  /** Drops some needed jars to free space; returns whether there were any. */
  protected boolean releaseNeededJars() {
    return false;
  }

  // --- commands ---

  /**
   * Marks the start or the end of a command: copies that only an earlier command stored may be
   * removed.
   *
   * @param running copies that code may be loaded from until the next call; null when unknown,
   *     which retains all copies
   */
  public void begin(@Nullable Set<Path> running) {
    kept.clear();
    inUse = running;
    tidied = false;
  }

  /** Returns the identities of jars, without storing them. */
  public final List<Jar> identify(List<Path> files) throws IOException {
    List<Jar> jars = new ArrayList<>();
    for (Path file : files) {
      jars.add(Jar.at(file, digests.of(file)));
    }
    digests.save();
    return jars;
  }

  /**
   * Stores copies. On return they survive a crash, except for copies in the temporary directory.
   *
   * @throws IOException when a jar cannot be read, or when dropping jars does not free enough space
   */
  public final List<Jar> keep(List<Path> files) throws IOException {
    List<Jar> jars = new ArrayList<>();
    if (!files.isEmpty()) {
      Path directory = directory();
      for (Path file : files) {
        Jar jar = keep(file, directory);
        kept.add(directory.resolve(jar.copyName()));
        jars.add(jar);
      }
      forceNames(directory);
      digests.save();
    }
    return jars;
  }

  private Jar keep(Path file, Path directory) throws IOException {
    RetainedJar received = taken.get(file);
    String digest = received == null ? digests.findCached(file) : received.digest;
    long bytes = Files.size(file);
    if (digest == null && size(ALL) + bytes > maxBytes) {
      digest = digests.of(file); // without space for another copy, it may already be stored
    }
    if (digest != null && isThere(Jar.at(file, digest), directory)) {
      return Jar.at(file, digest);
    }
    requireRoom(bytes, file.toString());
    try {
      return copy(file, directory);
    } catch (IOException failed) { // probably a full disk
      while (makeRoom() && directory.toFile().getUsableSpace() < bytes) {}
      return copy(file, directory);
    }
  }

  /**
   * Copies a file. The name of the copy is based on the copied bytes, even if the file changed
   * meanwhile.
   */
  private Jar copy(Path file, Path directory) throws IOException {
    Path copying = directory.resolve(COPYING);
    Files.deleteIfExists(copying);
    Files.createFile(copying, PrivateFiles.ownerOnly());
    Jar copied;
    try (OutputStream out = Files.newOutputStream(copying)) {
      copied = Jar.at(file, digests.copy(file, out));
    } catch (IOException failed) {
      deleteQuietly(copying);
      throw failed;
    }
    if (isThere(copied, directory)) {
      deleteQuietly(copying);
    } else {
      place(copying, copied);
    }
    return copied;
  }

  private void place(Path written, Jar jar) throws IOException {
    if (!isTemporary(written)) {
      PrivateFiles.force(written);
    }
    Files.move(written, written.resolveSibling(jar.copyName()), StandardCopyOption.ATOMIC_MOVE);
  }

  private void forceNames(Path directory) throws IOException {
    if (!isTemporary(directory)) {
      PrivateFiles.forceNames(directory);
    }
  }

  private boolean isTemporary(Path file) {
    return temporary != null && file.startsWith(temporary);
  }

  /** Copies jars from the temporary directory to that of the state. */
  protected final void persist(Set<Jar> jars) throws IOException {
    if (temporary != null) {
      Path directory = directory();
      for (Jar jar : jars) {
        if (!isThere(jar, directory)) {
          copy(temporary.resolve(jar.copyName()), directory);
        }
      }
      forceNames(directory);
    }
  }

  // --- copies ---

  /** Returns the path of a jar's copy, whether or not it exists. */
  public final Path path(Jar jar) {
    List<Path> all = directories.stream().map(each -> each.resolve(jar.copyName())).toList();
    return all.stream().filter(Files::exists).findFirst().orElse(all.get(0));
  }

  /**
   * Returns whether an intact copy of a jar exists. If necessary, first creates the copy from one
   * with another name and the same content.
   */
  public final boolean isThere(Jar jar) {
    return directories.stream().anyMatch(each -> isThere(jar, each)) || copyAgain(jar);
  }

  /** Returns whether the copy of a jar exists; renames a damaged one. */
  private boolean isThere(Jar jar, Path directory) {
    Path file = directory.resolve(jar.copyName());
    try {
      if (!Files.isRegularFile(file) || digests.of(file).equals(jar.digest())) {
        return Files.isRegularFile(file);
      }
      Path aside = file.resolveSibling(file.getFileName() + ".corrupt-1");
      LOG.error("state: {}: damaged: moved to {}", file, aside.getFileName());
      Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
      DamagedFiles.removeOld(aside);
    } catch (IOException unreadable) {
      LOG.error("state: {}: unreadable: {}", file, unreadable.toString());
    }
    return false;
  }

  private boolean copyAgain(Jar jar) {
    try {
      Path same = find(jar.digest());
      if (same != null) {
        Path copying = same.resolveSibling(COPYING);
        Files.copy(same, copying, StandardCopyOption.REPLACE_EXISTING);
        place(copying, jar);
      }
      return same != null;
    } catch (IOException failed) {
      LOG.error("state: {}: not copied: {}", path(jar), failed.toString());
      return false;
    }
  }

  /**
   * Returns the path of the copy with a content, and retains the copy for a while; null without
   * one.
   */
  public final @Nullable Path find(String digest) throws IOException {
    String end = Jar.endOfCopy(digest);
    for (Path file : files(COPY)) {
      if (file.getFileName().toString().endsWith(end) && digests.of(file).equals(digest)) {
        taken.put(file, new RetainedJar(digest, steadyMs.getAsLong()));
        return file;
      }
    }
    return null;
  }

  // --- received jars ---

  /**
   * Returns the path to write a received jar of that size to, before {@link #take}. Removes no
   * other copies until the jar is complete. Refuses the jar if removing them would not free enough
   * space.
   */
  public final Path begin(long bytes) throws IOException {
    Path directory = directory();
    long staying = staying();
    requireAtMost(staying + bytes, "one more");
    long free = directory.toFile().getUsableSpace() + size(ALL) - staying;
    if (bytes > free) {
      throw new IOException(
          "jars: one more of " + bytes + " bytes (expected: at most " + free + ", free on disk)");
    }
    Path file = Files.createTempFile(directory, RECEIVED, ".tmp", PrivateFiles.ownerOnly());
    receiving.add(file);
    return file;
  }

  /** Stores a received file under its content. */
  public void take(Path written, Jar jar) throws IOException {
    if (find(jar.digest()) != null) {
      deleteQuietly(written);
      return;
    }
    requireRoom(Files.size(written), jar.name());
    receiving.remove(written);
    place(written, jar);
    Path copy = written.resolveSibling(jar.copyName());
    taken.put(copy, new RetainedJar(jar.digest(), steadyMs.getAsLong()));
    forceNames(copy.getParent());
  }

  // --- disk space ---

  private void requireRoom(long bytes, String of) throws IOException {
    requireAtMost(staying() + bytes, of); // else all copies would be dropped in vain
    while (size(ALL) + bytes > maxBytes && makeRoom()) {}
    requireAtMost(size(ALL) + bytes, of);
  }

  private void requireAtMost(long with, String of) throws IOException {
    if (with > maxBytes) {
      throw new IOException(
          "jars: " + with + " bytes with " + of + " (expected: at most " + maxBytes + ")");
    }
  }

  /** Returns the total size of the copies that are never dropped. */
  private long staying() throws IOException {
    return size(stays(neededAlways()));
  }

  private long size(Predicate<Path> counted) throws IOException {
    long bytes = 0;
    for (Path file : files(COPY)) {
      if (file.startsWith(directories.get(0)) && counted.test(file)) {
        bytes += Files.size(file);
      }
    }
    return bytes;
  }

  private Predicate<Path> stays(Set<Jar> needed) {
    Set<String> names = needed.stream().map(Jar::copyName).collect(Collectors.toSet());
    return file ->
        inUse == null
            || inUse.contains(file)
            || names.contains(file.getFileName().toString())
            || kept.contains(file)
            || taken.containsKey(file)
            || receiving.contains(file);
  }

  /**
   * Frees space: removes unused copies first, then drops needed ones.
   *
   * @return whether there were any
   */
  public boolean makeRoom() {
    if (tidied && (inUse == null || !releaseNeededJars())) {
      return false;
    }
    tidied = true;
    removeUnused();
    return true;
  }

  /** Removes copies that nothing needs, including partial copies of an earlier process. */
  public final void removeUnused() {
    taken.values().removeIf(each -> steadyMs.getAsLong() - each.atMs >= RETENTION.toMillis());
    receiving.removeIf(file -> !Files.exists(file)); // abandoned uploads
    Predicate<Path> stays = stays(needed());
    try {
      for (Path file : files(COPY + "|" + RECEIVED + ".+|" + COPYING)) {
        if (!stays.test(file)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException failed) {
      LOG.warn("state: unused jars not removed: {}", failed.toString());
    }
  }

  private List<Path> files(String named) throws IOException {
    List<Path> all = new ArrayList<>();
    for (Path directory : directories) {
      if (Files.isDirectory(directory)) {
        try (Stream<Path> files = Files.list(directory)) {
          files.filter(file -> file.getFileName().toString().matches(named)).forEach(all::add);
        }
      }
    }
    return all;
  }

  /** Removes the temporary directory. */
  public final void close() {
    if (temporary != null) {
      try {
        for (Path file : files(".+")) {
          if (isTemporary(file)) {
            Files.deleteIfExists(file);
          }
        }
        Files.deleteIfExists(temporary);
      } catch (IOException failed) {
        LOG.warn("state: {} not removed: {}", temporary, failed.toString());
      }
    }
  }

  private static void deleteQuietly(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException failed) {
      LOG.debug("state: {} not removed: {}", file, failed.toString());
    }
  }
}
