package dev.berth.cluster.ratis;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.apache.ratis.statemachine.impl.SimpleStateMachineStorage.SNAPSHOT_REGEX;
import static org.apache.ratis.statemachine.impl.SimpleStateMachineStorage.getTermIndexFromSnapshotFile;

import dev.berth.code.StartFailedException;
import dev.berth.desired.StateStoreRecords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.ratis.server.RaftServerConfigKeys.Log.CorruptionPolicy;
import org.apache.ratis.server.raftlog.segmented.LogSegment;
import org.apache.ratis.server.raftlog.segmented.LogSegmentPath;
import org.apache.ratis.util.SizeInBytes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the files of a log before Ratis does, which takes a file that lost its entries for a short
 * one, and reports a damaged one by a chain of exceptions. A marker beside them names the last
 * entry that was applied. It is written behind that entry and not forced, so it is never ahead of
 * the log.
 */
final class LogFiles {
  private static final Logger LOG = LoggerFactory.getLogger(LogFiles.class);
  private static final String MARKER = "applied";

  /** Above the largest entry. */
  private static final SizeInBytes MAX_ENTRY = SizeInBytes.valueOf("4MB");

  private LogFiles() {}

  /** Notes the index of an entry that was applied. */
  static void mark(Path group, long index) {
    try { // in place: a full disk has room for it
      Files.write(group.resolve(MARKER), StateStoreRecords.number(index), CREATE, WRITE);
    } catch (IOException failed) {
      LOG.debug("state: {} is not noted: {}", index, failed.toString());
    }
  }

  /**
   * @param group folder of the log; it may be missing
   * @throws StartFailedException when a file is damaged, or entries are missing at the end
   */
  static void check(Path group) throws IOException {
    long last = -1;
    for (Path snapshot : Snapshots.matching(group.resolve("sm"), SNAPSHOT_REGEX)) {
      last = Math.max(last, getTermIndexFromSnapshotFile(snapshot.toFile()).getIndex());
    }
    for (Path file : Snapshots.matching(group.resolve("current"), Snapshots.SEGMENT)) {
      LogSegmentPath segment = LogSegmentPath.matchLogSegment(file);
      last = segment == null ? last : Math.max(last, lastOf(segment));
    }
    Path marker = group.resolve(MARKER);
    long applied = Files.exists(marker) ? StateStoreRecords.number(Files.readAllBytes(marker)) : -1;
    if (applied > last) {
      throw lost(group, "entries %s to %s of the log are missing".formatted(last + 1, applied));
    }
  }

  private static long lastOf(LogSegmentPath segment) {
    long[] last = {-1};
    try {
      LogSegment.readSegmentFile(
          segment.getPath().toFile(),
          segment.getStartEnd(),
          MAX_ENTRY,
          CorruptionPolicy.EXCEPTION,
          null,
          entry -> last[0] = entry.getIndex());
      return last[0];
    } catch (IOException | RuntimeException damaged) {
      String where = last[0] < 0 ? "at its first entry" : "behind entry " + last[0];
      throw lost(segment.getPath(), "is damaged " + where);
    }
  }

  private static StartFailedException lost(Path file, String what) {
    return new StartFailedException(
        "berth.state_dir: %s: %s (expected: whole; restore the newest backup of the directory, or start with an empty one and --adopt)"
            .formatted(file, what));
  }
}
