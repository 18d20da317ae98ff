package dev.berth.cluster.ratis;

import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.DSYNC;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.apache.ratis.statemachine.impl.SimpleStateMachineStorage.SNAPSHOT_REGEX;
import static org.apache.ratis.statemachine.impl.SimpleStateMachineStorage.getTermIndexFromSnapshotFile;

import dev.berth.code.DamagedFiles;
import dev.berth.code.PrivateFiles;
import dev.berth.code.StartFailedException;
import dev.berth.desired.StateStoreRecords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.ratis.server.RaftServerConfigKeys.Log.CorruptionPolicy;
import org.apache.ratis.server.raftlog.segmented.LogSegment;
import org.apache.ratis.server.raftlog.segmented.LogSegmentPath;
import org.apache.ratis.util.SizeInBytes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the files of a log before Ratis opens them. Ratis treats a file that lost its entries as a
 * short one, and reports a damaged file by a chain of exceptions. A marker beside them contains the
 * index of the last applied entry. The marker is forced to disk after that entry, so it is never
 * ahead of the log.
 */
final class LogFiles {
  private static final Logger LOG = LoggerFactory.getLogger(LogFiles.class);
  private static final String MARKER = "applied";

  /** Maximum size of an entry for reading, larger than any entry. */
  private static final SizeInBytes MAX_ENTRY = SizeInBytes.valueOf("4MB");

  private LogFiles() {}

  /** Writes the index of an applied entry to the marker, and forces it to disk. Blocks. */
  static void mark(Path group, long index) {
    try { // overwrites in place, which a full disk permits
      Files.write(group.resolve(MARKER), StateStoreRecords.number(index), CREATE, WRITE, DSYNC);
    } catch (IOException failed) {
      LOG.warn("state: entry {}: stored, but not marked: {}", index, failed.toString());
    }
  }

  /** Checks that a folder is writable, which Ratis would report by a chain of exceptions. */
  static void requireWritable(Path folder) throws IOException {
    if (Files.exists(folder) && !Files.isWritable(folder)) {
      throw new IOException(folder + " is not writable");
    }
  }

  /** Returns the index in the marker; -1 without one. */
  static long readMarker(Path group) throws IOException {
    Path marker = group.resolve(MARKER);
    return Files.exists(marker) ? StateStoreRecords.number(Files.readAllBytes(marker)) : -1;
  }

  /**
   * Checks a log. Updates a marker that is behind the log or, for logs of earlier versions,
   * missing.
   *
   * @param group folder of the log, which may be missing
   * @throws StartFailedException when a file is damaged, or entries are missing at the end
   */
  static void check(Path group) throws IOException {
    for (String each : List.of("", "current", "sm", MARKER)) {
      requireWritable(group.resolve(each));
    }
    long last = -1;
    for (Path snapshot : Snapshots.matching(group.resolve("sm"), SNAPSHOT_REGEX)) {
      last = Math.max(last, getTermIndexFromSnapshotFile(snapshot.toFile()).getIndex());
    }
    long applied = readMarker(group);
    List<Path> segments = Snapshots.matching(group.resolve("current"), Snapshots.SEGMENT);
    for (Path file : segments) {
      LogSegmentPath segment = LogSegmentPath.matchLogSegment(file);
      last = segment == null ? last : Math.max(last, lastOf(segment, applied, last));
    }
    if (applied > last) {
      throw startFailure(
          group, "entries %s to %s of the log are missing".formatted(last + 1, applied));
    }
    if (applied < last) {
      for (Path file : segments) {
        PrivateFiles.force(file); // a kill may have preceded Ratis' own
      }
      mark(group, last);
    }
  }

  /**
   * Returns the index of a segment's last whole entry. In the open segment, entries after the
   * marked one were never acknowledged. A crash during such a write leaves a partial entry, which
   * Ratis then truncates.
   */
  private static long lastOf(LogSegmentPath segment, long applied, long before) throws IOException {
    long[] last = {-1};
    try {
      LogSegment.readSegmentFile(
          segment.getPath().toFile(),
          segment.getStartEnd(),
          MAX_ENTRY,
          CorruptionPolicy.EXCEPTION,
          null,
          entry -> last[0] = entry.getIndex());
    } catch (IOException | RuntimeException damaged) {
      Path file = segment.getPath();
      boolean open = file.getFileName().toString().contains("inprogress");
      long whole = last[0] < 0 ? before : last[0]; // a start creates a file
      if (open && applied >= 0 && whole >= applied) {
        Path aside = file.getParent().resolveSibling(file.getFileName() + ".corrupt-" + whole);
        Files.copy(file, aside, REPLACE_EXISTING);
        DamagedFiles.removeOld(aside);
        LOG.warn(
            "state: {}: incomplete entry after {}, not acknowledged: truncated; original file: {}",
            file,
            whole,
            aside);
        return whole;
      }
      throw damaged(file, last[0]);
    }
    String name = segment.getPath().getFileName().toString();
    int end = name.indexOf('-') + 1; // > 0 for a closed segment
    if (end > 0 && Long.parseLong(name.substring(end)) != last[0]) {
      throw damaged(segment.getPath(), last[0]);
    }
    return last[0];
  }

  private static StartFailedException damaged(Path file, long last) {
    return startFailure(
        file, "is damaged " + (last < 0 ? "at its first entry" : "behind entry " + last));
  }

  private static StartFailedException startFailure(Path file, String what) {
    return new StartFailedException(
        "berth.state_dir: %s: %s (expected: complete; restore the newest backup of the directory, or start with an empty one and --adopt)"
            .formatted(file, what));
  }
}
