package dev.berth.cli.dev;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Stamps of files at one point in time. Two snapshots show the files that were written, created or
 * removed between them.
 */
record FileSnapshot(Map<Path, FileStamp> stamps) {

  /**
   * Attributes of a file that a write or a replacement changes.
   *
   * @param key identity of the file in its file system; null where there is none
   */
  record FileStamp(FileTime modified, long bytes, @Nullable Object key) {}

  /**
   * Reads the stamps of files. Omits missing files, and temporary and hidden files of editors.
   *
   * @param roots files, and directories whose files all belong to the snapshot
   */
  static FileSnapshot of(Collection<Path> roots) {
    Map<Path, FileStamp> stamps = new TreeMap<>();
    for (Path root : roots) {
      try {
        Files.walkFileTree(root, new StampReader(root, stamps));
      } catch (IOException missing) {
        // A root that appears later is a change then.
      }
    }
    return new FileSnapshot(stamps);
  }

  private static boolean isTemporary(Path file) {
    String name = file.getFileName().toString();
    return name.startsWith(".") || name.startsWith("#") || name.matches(".*(~|\\.(swp|tmp|bak))");
  }

  /** Returns the files that differ from those of an earlier snapshot, removed ones included. */
  Set<Path> changedSince(FileSnapshot before) {
    return Stream.concat(stamps.keySet().stream(), before.stamps.keySet().stream())
        .filter(file -> !Objects.equals(stamps.get(file), before.stamps.get(file)))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Returns the latest modification time of existing files in ms since 1970; 0 without any. */
  long newestMs(Set<Path> files) {
    return files.stream()
        .map(stamps::get)
        .filter(Objects::nonNull)
        .mapToLong(stamp -> stamp.modified.toMillis())
        .max()
        .orElse(0);
  }

  /** Visitor that records stamps. A file that vanishes during the walk is missing. */
  private static final class StampReader extends SimpleFileVisitor<Path> {
    private final Path root;
    private final Map<Path, FileStamp> stamps;

    StampReader(Path root, Map<Path, FileStamp> stamps) {
      this.root = root;
      this.stamps = stamps;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes found) {
      if (file.equals(root) || !isTemporary(file)) {
        stamps.put(file, new FileStamp(found.lastModifiedTime(), found.size(), found.fileKey()));
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException vanished) {
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException vanished) {
      return FileVisitResult.CONTINUE;
    }
  }
}
