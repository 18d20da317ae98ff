package dev.berth.code;

import static java.util.Comparator.comparing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Damaged files of a state directory, retained for inspection. */
public final class DamagedFiles {
  /** Maximum number of damaged files per folder. */
  public static final int MAX_KEPT = 3;

  private static final Logger LOG = LoggerFactory.getLogger(DamagedFiles.class);
  private static final Pattern NAME =
      Pattern.compile(".+\\.corrupt-\\d+|corrupt-snapshot\\.\\d+_\\d+");

  private DamagedFiles() {}

  /** Removes all damaged files of a folder except the newest and {@code latest}. Blocks. */
  public static void removeOld(Path latest) {
    try (Stream<Path> files = Files.list(latest.resolveSibling(""))) {
      List<Path> old =
          files
              .filter(each -> NAME.matcher(each.getFileName().toString()).matches())
              .filter(each -> !each.getFileName().equals(latest.getFileName()))
              .sorted(comparing((Path each) -> each.toFile().lastModified()).reversed())
              .skip(MAX_KEPT - 1)
              .toList();
      for (Path each : old) {
        Files.delete(each);
      }
      if (!old.isEmpty()) {
        LOG.info("state: old damaged files: removed all but the newest {}: {}", MAX_KEPT, old);
      }
    } catch (IOException failed) {
      LOG.warn("state: old damaged files not removed: {}", failed.toString());
    }
  }
}
