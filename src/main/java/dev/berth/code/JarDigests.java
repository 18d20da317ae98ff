package dev.berth.code;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cache of the SHA-256 of files. A digest is valid while the file at a path has the same size,
 * times and inode. Computing one for 17 MB takes a cold JVM a tenth of a second. The change time of
 * the inode is compared too, because the modification time can be set back. A stale digest does
 * little harm: a stored copy is named by the digest of its own content.
 *
 * <pre>
 *   line = digest ' ' size,mtime,ctime,device:inode ' ' path
 * </pre>
 */
final class JarDigests {
  private static final Logger LOG = LoggerFactory.getLogger(JarDigests.class);
  private static final Pattern LINE = Pattern.compile("([0-9a-f]{64}) (\\S+) (.+)");

  /** Maximum number of cached files; the oldest are evicted. */
  static final int MAX_FILES = 4_096;

  /**
   * Minimum age of a cacheable modification, in milliseconds. A file modified more recently may be
   * modified again with the same modification time.
   */
  static final long SETTLED_MS = 2_000;

  private record CachedDigest(String stamp, String digest) {}

  /** The attributes of a file at one time, and the time of its last modification. */
  private record FileStamp(String stamp, long changedMs) {
    static FileStamp at(Path file) throws IOException {
      if (file.getFileSystem().supportedFileAttributeViews().contains("unix")) {
        Map<String, Object> unix =
            Files.readAttributes(file, "unix:size,lastModifiedTime,ctime,dev,ino");
        return of(
            unix.get("size"),
            (FileTime) unix.get("lastModifiedTime"),
            (FileTime) unix.get("ctime"),
            unix.get("dev") + ":" + unix.get("ino"));
      }
      BasicFileAttributes basic = Files.readAttributes(file, BasicFileAttributes.class);
      return of(basic.size(), basic.lastModifiedTime(), basic.creationTime(), "");
    }

    private static FileStamp of(Object size, FileTime written, FileTime changed, String inode) {
      return new FileStamp(
          size + "," + nanos(written) + ',' + nanos(changed) + ',' + inode,
          Math.max(written.toMillis(), changed.toMillis()));
    }

    private static long nanos(FileTime time) {
      return time.to(TimeUnit.NANOSECONDS);
    }
  }

  private final LongSupplier nowMs;
  private final Map<String, CachedDigest> seen = new LinkedHashMap<>(); // by path
  private @Nullable Path kept;
  private boolean changed;

  /**
   * Creates an empty cache.
   *
   * @param nowMs milliseconds since 1970
   */
  JarDigests(LongSupplier nowMs) {
    this.nowMs = nowMs;
  }

  /** Loads the digests that an earlier process stored in a file, and stores further ones there. */
  void keepIn(Path file) {
    kept = file;
    changed = !seen.isEmpty();
    if (Files.isRegularFile(file)) {
      try (Stream<String> lines = Files.lines(file)) {
        for (String line : (Iterable<String>) lines::iterator) {
          Matcher parts = LINE.matcher(line);
          if (parts.matches()) {
            seen.putIfAbsent(parts.group(3), new CachedDigest(parts.group(2), parts.group(1)));
          }
        }
      } catch (IOException | java.io.UncheckedIOException failed) {
        LOG.info("state: {}: unreadable: digesting jars: {}", file, failed.toString());
      }
    }
  }

  /** Returns the cached digest of a file; null when the file must be read. */
  @Nullable String findCached(Path file) throws IOException {
    CachedDigest last = seen.get(name(file));
    return last != null && last.stamp.equals(FileStamp.at(file).stamp) ? last.digest : null;
  }

  String of(Path file) throws IOException {
    String known = findCached(file);
    return known != null ? known : copy(file, OutputStream.nullOutputStream());
  }

  /** Copies a file, and returns the digest of the copied bytes. */
  String copy(Path file, OutputStream to) throws IOException {
    FileStamp before = FileStamp.at(file);
    String digits = read(file, to);
    boolean settled = before.changedMs + SETTLED_MS < nowMs.getAsLong();
    if (settled && before.equals(FileStamp.at(file))) {
      cache(name(file), new CachedDigest(before.stamp, digits));
    }
    return digits;
  }

  /** Copies a file, and returns the SHA-256 of the copied bytes in hexadecimal digits. */
  static String read(Path file, OutputStream to) throws IOException {
    MessageDigest digest = Fingerprint.sha256();
    try (InputStream in = Files.newInputStream(file)) {
      in.transferTo(new DigestOutputStream(to, digest));
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  private void cache(String name, CachedDigest last) {
    seen.remove(name);
    seen.put(name, last);
    if (seen.size() > MAX_FILES) {
      Iterator<String> oldest = seen.keySet().iterator();
      oldest.next();
      oldest.remove();
    }
    changed = true;
  }

  private static String name(Path file) {
    return file.toAbsolutePath().normalize().toString();
  }

  /**
   * Stores new digests for a later process. Not forced to disk, because they can be computed again.
   */
  void save() {
    Path file = kept;
    if (file == null || !changed) {
      return;
    }
    changed = false;
    List<String> lines =
        seen.entrySet().stream()
            .map(each -> each.getValue().digest + ' ' + each.getValue().stamp + ' ' + each.getKey())
            .filter(line -> LINE.matcher(line).matches()) // omits paths with line breaks
            .toList();
    try {
      PrivateFiles.createDirectories(file.resolveSibling(""));
      Path writing = file.resolveSibling(file.getFileName() + ".tmp");
      Files.deleteIfExists(writing);
      Files.createFile(writing, PrivateFiles.ownerOnly());
      Files.write(writing, lines);
      Files.move(
          writing, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException failed) {
      LOG.info("state: {}: not written: digests not stored: {}", file, failed.toString());
    }
  }
}
