package dev.berth.code;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
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
 * Copies of jars, by their content: a later write to a jar breaks neither the code that runs from
 * its copy nor a rollback to it, and equal code is equal by its bytes. Blocks; one caller at a
 * time.
 *
 * <p><b>Place.</b> The state's directory once there is one ({@link #keepIn}), and before that a
 * directory that goes with the process. Copies of both are found.
 *
 * <p><b>Lifetime.</b> A copy stays while the owner {@link #needed needs} it, while code may be
 * loaded from it, until the command that kept it ends, and for an hour after another node or a
 * client sent it or asked for it.
 */
public class JarRepository {
  private static final Logger LOG = LoggerFactory.getLogger(JarRepository.class);
  private static final String COPYING = "copying.tmp";
  private static final String RECEIVED = "received-";
  private static final String COPY = ".+-[0-9a-f]{32}\\.jar";
  private static final Predicate<Path> ALL = copy -> true;

  /** Bytes of all copies together. */
  public static final long MAX_BYTES = 8L << 30;

  /** The time that a jar stays after it was received or found, though nothing needs it. */
  public static final Duration TAKEN_FOR = Duration.ofHours(1);

  private record Taken(String digest, long atMs) {}

  private final LongSupplier steadyMs;
  private final long maxBytes;
  private final JarDigests digests;
  private final List<Path> directories = new ArrayList<>(); // the first gets new copies
  private @Nullable Path temporary; // one of them
  private @Nullable Set<Path> inUse = Set.of();
  private final Set<Path> kept = new HashSet<>(); // by the present command
  private final Map<Path, Taken> taken = new HashMap<>();
  private final Set<Path> receiving = new HashSet<>();
  private boolean tidied; // by the present command

  /**
   * @param nowMs milliseconds since 1970
   * @param steadyMs the same, for ages alone
   * @param maxBytes of all copies together; {@link #MAX_BYTES}
   */
  public JarRepository(LongSupplier nowMs, LongSupplier steadyMs, long maxBytes) {
    this.steadyMs = steadyMs;
    this.maxBytes = maxBytes;
    this.digests = new JarDigests(nowMs);
  }

  /** Keeps new copies in a directory of the state from now on. */
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

  /** Jars whose copies stay. */
  protected Set<Jar> needed() {
    return Set.of();
  }

  /** Those of the needed jars that {@link #letGo} never lets go of. */
  protected Set<Jar> neededAlways() {
    return Set.of();
  }

  /** Lets go of some needed jars for want of room; returns whether there were any. */
  protected boolean letGo() {
    return false;
  }

  // --- commands ---

  /**
   * A command begins, or has ended: copies that only an earlier one kept may go.
   *
   * @param running copies that code may be loaded from until the next begins; null when that is not
   *     known, and all copies stay
   */
  public void begin(@Nullable Set<Path> running) {
    kept.clear();
    inUse = running;
    tidied = false;
  }

  /** Returns what jars are, without keeping them. */
  public final List<Jar> identify(List<Path> files) throws IOException {
    List<Jar> jars = new ArrayList<>();
    for (Path file : files) {
      jars.add(Jar.at(file, digests.of(file)));
    }
    digests.save();
    return jars;
  }

  /**
   * Keeps copies; they outlast a crash when this returns, unless they go with the process.
   *
   * @throws IOException when one cannot be read, or there is no room whatever was let go of
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
    Taken received = taken.get(file);
    String digest = received == null ? digests.known(file) : received.digest;
    long bytes = Files.size(file);
    if (digest == null && size(ALL) + bytes > maxBytes) {
      digest = digests.of(file); // without room for one more, it may be there
    }
    if (digest != null && isThere(Jar.at(file, digest), directory)) {
      return Jar.at(file, digest);
    }
    requireRoom(bytes, file.toString());
    try {
      return copy(file, directory);
    } catch (IOException failed) { // for want of room on the disk, as likely as not
      while (makeRoom() && directory.toFile().getUsableSpace() < bytes) {}
      return copy(file, directory);
    }
  }

  /** Copies a file. The copy is named by what was copied, though the file changed meanwhile. */
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
      try (FileChannel channel = FileChannel.open(written, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
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

  /** Copies jars from the directory that goes with the process to that of the state. */
  protected final void outlast(Set<Jar> jars) throws IOException {
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

  /** Where the copy of a jar is, or would be. */
  public final Path path(Jar jar) {
    List<Path> all = directories.stream().map(each -> each.resolve(jar.copyName())).toList();
    return all.stream().filter(Files::exists).findFirst().orElse(all.get(0));
  }

  /** Returns whether the copy of a jar is whole, or was copied again from one of another name. */
  public final boolean isThere(Jar jar) {
    return directories.stream().anyMatch(each -> isThere(jar, each)) || copyAgain(jar);
  }

  /** Returns whether the copy of a jar is there; one with another content is put aside. */
  private boolean isThere(Jar jar, Path directory) {
    Path file = directory.resolve(jar.copyName());
    try {
      if (!Files.isRegularFile(file) || digests.of(file).equals(jar.digest())) {
        return Files.isRegularFile(file);
      }
      Path aside = file.resolveSibling(file.getFileName() + ".corrupt-1");
      LOG.error("state: {}: damaged: put aside as {}", file, aside.getFileName());
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
      LOG.error("state: {}: not copied from another: {}", path(jar), failed.toString());
      return false;
    }
  }

  /** Returns where the copy with a content is, which stays for a while; null without one. */
  public final @Nullable Path find(String digest) throws IOException {
    String end = Jar.endOfCopy(digest);
    for (Path file : files(COPY)) {
      if (file.getFileName().toString().endsWith(end) && digests.of(file).equals(digest)) {
        taken.put(file, new Taken(digest, steadyMs.getAsLong()));
        return file;
      }
    }
    return null;
  }

  // --- what comes from elsewhere ---

  /**
   * Returns where a jar of that size may be written before it is {@link #take taken}. Nothing gives
   * way to it before it has come, and it is refused if that would not be enough.
   */
  public final Path begin(long bytes) throws IOException {
    Path directory = directory();
    long staying = staying();
    requireAtMost(staying + bytes, "one more");
    long free = directory.toFile().getUsableSpace() + size(ALL) - staying;
    if (bytes > free) {
      throw new IOException(
          "jars: one more of " + bytes + " bytes (expected: at most " + free + ", by the disk)");
    }
    Path file = Files.createTempFile(directory, RECEIVED, ".tmp", PrivateFiles.ownerOnly());
    receiving.add(file);
    return file;
  }

  /** Keeps what was written there, by its content. */
  public void take(Path written, Jar jar) throws IOException {
    if (find(jar.digest()) != null) {
      deleteQuietly(written);
      return;
    }
    requireRoom(Files.size(written), jar.name());
    receiving.remove(written);
    place(written, jar);
    Path copy = written.resolveSibling(jar.copyName());
    taken.put(copy, new Taken(jar.digest(), steadyMs.getAsLong()));
    forceNames(copy.getParent());
  }

  // --- room ---

  private void requireRoom(long bytes, String of) throws IOException {
    requireAtMost(staying() + bytes, of); // else all would be let go of in vain
    while (size(ALL) + bytes > maxBytes && makeRoom()) {}
    requireAtMost(size(ALL) + bytes, of);
  }

  private void requireAtMost(long with, String of) throws IOException {
    if (with > maxBytes) {
      throw new IOException(
          "jars: " + with + " bytes with " + of + " (expected: at most " + maxBytes + ")");
    }
  }

  /** Returns the bytes of the copies that give way to nothing. */
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
   * Removes unused copies, and then lets go of needed ones.
   *
   * @return whether there were any
   */
  public boolean makeRoom() {
    if (tidied && (inUse == null || !letGo())) {
      return false;
    }
    tidied = true;
    removeUnused();
    return true;
  }

  /** Removes what nothing needs, parts of copies of an earlier process included. */
  public final void removeUnused() {
    taken.values().removeIf(each -> steadyMs.getAsLong() - each.atMs >= TAKEN_FOR.toMillis());
    receiving.removeIf(file -> !Files.exists(file)); // what was given up
    Predicate<Path> stays = stays(needed());
    try {
      for (Path file : files(COPY + "|" + RECEIVED + ".+|" + COPYING)) {
        if (!stays.test(file)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException failed) {
      LOG.warn("state: unused jars are not removed: {}", failed.toString());
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

  /** Removes what goes with the process. */
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
        LOG.warn("state: {} is not removed: {}", temporary, failed.toString());
      }
    }
  }

  private static void deleteQuietly(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException failed) {
      LOG.debug("state: {} is not removed: {}", file, failed.toString());
    }
  }
}
