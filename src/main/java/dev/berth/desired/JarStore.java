package dev.berth.desired;

import dev.berth.code.Jar;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of the jars that are declared, by their content: what is written over a jar afterwards
 * neither breaks what runs from it nor a rollback to it, and equal code is equal by its bytes. In
 * the directory of the state, or in one that goes with the process. May block; one caller at a
 * time.
 */
final class JarStore {
  private static final Logger LOG = LoggerFactory.getLogger(JarStore.class);
  private static final String BEING_WRITTEN = "copying.tmp";
  private static final String RECEIVED = "received-";
  private static final String NAMED = ".+-[0-9a-f]{32}\\.jar";

  /** Bytes of all copies together. */
  static final long MOST_BYTES = 8L << 30;

  /** For as long a jar that was taken stays, though nothing that is declared needs it. */
  static final Duration TAKEN_FOR = Duration.ofHours(1);

  /** The owner of what a store keeps: decides about what gives way for want of room. */
  @FunctionalInterface
  interface Spare {
    /** Lets go of something more, and returns whether there was anything. */
    boolean makeRoom();

    /** Copies that stay whatever else is let go of; null when it is not known, and all stay. */
    default @Nullable Set<Path> staying(JarStore store) {
      return Set.of();
    }
  }

  private record Taken(String digest, long atMs) {}

  private final Path directory;
  private final boolean temporary;
  private final long mostBytes;
  private final JarDigests digests;
  private final Set<Path> kept = new HashSet<>(); // by the command under way
  private final Map<Path, Taken> taken = new HashMap<>(); // lately, and nothing may need it yet
  private final Set<Path> receiving = new HashSet<>(); // what is written from elsewhere

  private JarStore(Path directory, boolean temporary, long mostBytes, JarDigests digests) {
    this.directory = directory;
    this.temporary = temporary;
    this.mostBytes = mostBytes;
    this.digests = digests;
  }

  /** In the directory of the state; made when there is something to keep. */
  static JarStore in(Path stateDirectory, JarDigests digests, long mostBytes) {
    Path directory = stateDirectory.resolve("jars");
    digests.keepIn(directory.resolve("digests"));
    return new JarStore(directory, false, mostBytes, digests);
  }

  /** In a directory of its own, which goes when it is closed. */
  static JarStore temporary(JarDigests digests) throws IOException {
    return new JarStore(Files.createTempDirectory("berth-jars-"), true, MOST_BYTES, digests);
  }

  /** Where the copy of a jar is. */
  Path path(Jar jar) {
    return directory.resolve(jar.copyName());
  }

  /** Whether the copy of a jar is there; one whose content is another is put aside. */
  boolean isThere(Jar jar) {
    Path file = path(jar);
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

  /** Copies a jar from one of another name; false when none has its content. */
  boolean copyAgain(Jar jar, long nowMs) {
    try {
      Path same = find(jar.digest(), nowMs);
      if (same != null) {
        Path copying = directory.resolve(BEING_WRITTEN);
        Files.copy(same, copying, StandardCopyOption.REPLACE_EXISTING);
        place(copying, jar);
      }
      return same != null;
    } catch (IOException failed) {
      LOG.error("state: {}: not copied from another: {}", path(jar), failed.toString());
      return false;
    }
  }

  /** What jars are, without keeping them. */
  List<Jar> identify(List<Path> files) throws IOException {
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
   * @param spare asked for room as often as it takes before one is refused
   * @throws IOException when one cannot be read, or there is no room
   */
  List<Jar> keep(List<Path> files, Spare spare) throws IOException {
    StateStoreDisk.createDirectories(directory);
    List<Jar> jars = new ArrayList<>();
    for (Path file : files) {
      Jar jar = keep(file, spare);
      kept.add(path(jar));
      jars.add(jar);
    }
    if (!temporary) {
      StateStoreDisk.forceNames(directory);
    }
    digests.save();
    return jars;
  }

  private Jar keep(Path file, Spare spare) throws IOException {
    Taken received = taken.get(file);
    String known = received == null ? digests.known(file) : received.digest;
    if (known != null && isThere(Jar.at(file, known))) {
      return Jar.at(file, known);
    }
    long bytes = Files.size(file);
    if (size() + bytes > mostBytes) {
      Jar jar = Jar.at(file, digests.of(file)); // without room for one more, it may be there
      if (isThere(jar)) {
        return jar;
      }
    }
    requireRoom(bytes, spare, file.toString());
    try {
      return copy(file);
    } catch (IOException failed) { // for want of room on the disk, as likely as not
      while (spare.makeRoom() && directory.toFile().getUsableSpace() < bytes) {}
      return copy(file);
    }
  }

  private void requireRoom(long bytes, Spare spare, String of) throws IOException {
    requireAtMost(staying(spare) + bytes, of); // else all would be let go of in vain
    while (size() + bytes > mostBytes && spare.makeRoom()) {}
    requireAtMost(size() + bytes, of);
  }

  private void requireAtMost(long with, String of) throws IOException {
    if (with > mostBytes) {
      throw new IOException(
          "jars: " + with + " bytes with " + of + " (expected: at most " + mostBytes + ")");
    }
  }

  /** Bytes of the copies that give way to nothing. */
  private long staying(Spare spare) throws IOException {
    Set<Path> stay = spare.staying(this);
    long bytes = 0;
    for (Path file : copies()) {
      if (stay == null || stay.contains(file) || kept.contains(file) || taken.containsKey(file)) {
        bytes += Files.size(file);
      }
    }
    return bytes;
  }

  /** Named by what was copied, though the file was written to meanwhile. */
  private Jar copy(Path file) throws IOException {
    Path copying = directory.resolve(BEING_WRITTEN);
    Files.deleteIfExists(copying);
    Files.createFile(copying, StateStoreDisk.ownerOnly("rw-------"));
    Jar copied;
    try (OutputStream out = Files.newOutputStream(copying)) {
      copied = Jar.at(file, digests.copy(file, out));
    } catch (IOException failed) {
      deleteQuietly(copying);
      throw failed;
    }
    if (isThere(copied)) {
      deleteQuietly(copying);
      return copied;
    }
    place(copying, copied);
    return copied;
  }

  private void place(Path written, Jar jar) throws IOException {
    force(written);
    Files.move(written, path(jar), StandardCopyOption.ATOMIC_MOVE);
  }

  // --- what comes from elsewhere ---

  /** Where the copy with this content is, which stays for a while; null when there is none. */
  @Nullable Path find(String digest, long nowMs) throws IOException {
    String end = Jar.endOfCopy(digest);
    for (Path file : copies()) {
      if (file.getFileName().toString().endsWith(end) && digests.of(file).equals(digest)) {
        taken.put(file, new Taken(digest, nowMs));
        return file;
      }
    }
    return null;
  }

  /**
   * Where something of that size may be written before it is {@link #take taken}. Nothing gives way
   * to it before it has come, and it is refused if that would not be enough.
   */
  Path begin(long bytes, Spare spare) throws IOException {
    StateStoreDisk.createDirectories(directory);
    long staying = staying(spare);
    requireAtMost(staying + bytes, "one more");
    long free = directory.toFile().getUsableSpace() + size() - staying;
    if (bytes > free) {
      throw new IOException(
          "jars: one more of " + bytes + " bytes (expected: at most " + free + ", by the disk)");
    }
    Path file =
        Files.createTempFile(directory, RECEIVED, ".tmp", StateStoreDisk.ownerOnly("rw-------"));
    receiving.add(file);
    return file;
  }

  /** Whether {@link #begin} of this store said so. */
  boolean receives(Path written) {
    return receiving.contains(written);
  }

  /** Keeps what was written there, by its content. */
  void take(Path written, Jar jar, Spare spare, long nowMs) throws IOException {
    if (find(jar.digest(), nowMs) != null) {
      deleteQuietly(written);
      return;
    }
    requireRoom(Files.size(written), spare, jar.name());
    receiving.remove(written);
    place(written, jar);
    taken.put(path(jar), new Taken(jar.digest(), nowMs));
    if (!temporary) {
      StateStoreDisk.forceNames(directory);
    }
  }

  private void force(Path written) throws IOException {
    if (!temporary) {
      try (FileChannel channel = FileChannel.open(written, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
    }
  }

  private long size() throws IOException {
    long bytes = 0;
    for (Path file : copies()) {
      bytes += Files.size(file);
    }
    return bytes;
  }

  private List<Path> copies() throws IOException {
    return files(NAMED);
  }

  private List<Path> files(String named) throws IOException {
    if (!Files.isDirectory(directory)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.getFileName().toString().matches(named)).toList();
    }
  }

  /** A command begins: what an earlier one kept may go if nothing needs it. */
  void begin() {
    kept.clear();
  }

  /**
   * Removes copies that nothing needs, but for those that the command under way has kept, or that
   * were taken lately.
   */
  void removeUnused(Set<Path> needed, long nowMs) {
    taken.values().removeIf(each -> nowMs - each.atMs >= TAKEN_FOR.toMillis());
    receiving.removeIf(file -> !Files.exists(file)); // what was given up
    try {
      for (Path file : copies()) {
        if (!needed.contains(file) && !kept.contains(file) && !taken.containsKey(file)) {
          Files.deleteIfExists(file);
        }
      }
      for (Path file : files(RECEIVED + ".+|" + BEING_WRITTEN)) { // of an earlier process, too
        if (!receiving.contains(file)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException failed) {
      LOG.warn("state: unused jars are not removed: {}", failed.toString());
    }
  }

  /** Copies a declared jar from another store. */
  void takeOver(Jar jar, JarStore from) throws IOException {
    if (!isThere(jar)) {
      StateStoreDisk.createDirectories(directory);
      copy(from.path(jar));
      StateStoreDisk.forceNames(directory);
    }
  }

  /** Removes what goes with the process. */
  void close() {
    if (temporary) {
      kept.clear();
      taken.clear();
      receiving.clear();
      removeUnused(Set.of(), 0);
      try {
        Files.deleteIfExists(directory);
      } catch (IOException failed) {
        LOG.warn("state: {} is not removed: {}", directory, failed.toString());
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
