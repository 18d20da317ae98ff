package dev.berth.cli.dev;

import static java.nio.file.FileVisitOption.FOLLOW_LINKS;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Stamps of files at one point in time: modification time, size and identity. Two snapshots show
 * the files that were written, created, replaced or removed between them.
 */
record FileSnapshot(Map<Path, String> stamps) {
  private static final String TEMPORARY = "[.#].*|.*(~|\\.(swp|tmp|bak))";

  /**
   * Reads the stamps of files. Omits missing files, and temporary and hidden files of editors.
   *
   * @param roots files, and directories whose files all belong to the snapshot
   */
  static FileSnapshot of(Collection<Path> roots) {
    Map<Path, String> stamps = new TreeMap<>();
    for (Path root : roots) {
      SimpleFileVisitor<Path> reader =
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes found) {
              if (file.equals(root) || !file.getFileName().toString().matches(TEMPORARY)) {
                String stamp = found.lastModifiedTime() + " " + found.size();
                stamps.put(file, stamp + " " + found.fileKey());
              }
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException vanished) {
              return FileVisitResult.CONTINUE;
            }
          };
      try {
        Files.walkFileTree(root, Set.of(FOLLOW_LINKS), Integer.MAX_VALUE, reader);
      } catch (IOException missing) {
        // A root that appears later is a change then.
      }
    }
    return new FileSnapshot(stamps);
  }

  /** Returns the files that differ from those of an earlier snapshot, removed ones included. */
  Set<Path> changedSince(FileSnapshot before) {
    return Stream.concat(stamps.keySet().stream(), before.stamps.keySet().stream())
        .filter(file -> !Objects.equals(stamps.get(file), before.stamps.get(file)))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
