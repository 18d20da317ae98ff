package dev.berth.cluster.ratis;

import dev.berth.code.DamagedFiles;
import dev.berth.desired.DesiredState;
import dev.berth.desired.StateStoreRecords;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.ratis.io.MD5Hash;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.impl.SimpleStateMachineStorage;
import org.apache.ratis.statemachine.impl.SingleFileSnapshotInfo;
import org.apache.ratis.util.AtomicFileOutputStream;
import org.apache.ratis.util.MD5FileUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Snapshots of the whole state at an entry of the log, each a file with a checksum. Ratis only
 * checks file names. A damaged snapshot is therefore set aside before Ratis sees it, and the
 * previous one is used, whose later entries are retained in the log.
 */
final class Snapshots extends SimpleStateMachineStorage {
  private static final Logger LOG = LoggerFactory.getLogger(Snapshots.class);

  /** File name of a log segment, with the index of its first entry. */
  static final Pattern SEGMENT = Pattern.compile("log_(?:inprogress_)?(\\d+)(?:-\\d+)?");

  private static final String DAMAGED = "corrupt-";

  /**
   * Reads the newest undamaged snapshot.
   *
   * @throws IOException when the log does not continue after it
   */
  DesiredState open(RaftStorage storage) throws IOException {
    Path folder = storage.getStorageDir().getStateMachineDir().toPath();
    for (Path file : matching(folder, SNAPSHOT_REGEX)) {
      putAsideIfDamaged(file);
    }
    init(storage);
    SingleFileSnapshotInfo newest = getLatestSnapshot();
    requireLogBehind(
        newest == null ? -1 : newest.getIndex(), storage.getStorageDir().getCurrentDir().toPath());
    return newest == null ? DesiredState.EMPTY : read(newest.getFile().getPath());
  }

  private static DesiredState read(Path file) throws IOException {
    return DesiredState.EMPTY.with(List.of(StateStoreRecords.change(Files.readAllBytes(file))));
  }

  private static void putAsideIfDamaged(Path file) throws IOException {
    try {
      read(file);
    } catch (IOException damaged) {
      LOG.error("state: {}: damaged: {}: using the previous one", file, damaged.getMessage());
      Path aside = file.resolveSibling(DAMAGED + file.getFileName());
      Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
      DamagedFiles.removeOld(aside);
    }
  }

  /**
   * Checks that the log continues after a snapshot. Otherwise Ratis would wait for a leader with
   * the missing entries.
   */
  private static void requireLogBehind(long index, Path folder) throws IOException {
    long begin = Long.MAX_VALUE;
    for (Path file : matching(folder, SEGMENT)) {
      Matcher name = SEGMENT.matcher(file.getFileName().toString());
      begin = name.matches() ? Math.min(begin, Long.parseLong(name.group(1))) : begin;
    }
    if (begin != Long.MAX_VALUE && begin > index + 1) {
      throw new IOException(
          "entries %s to %s are missing, since snapshots are damaged"
              .formatted(index + 1, begin - 1));
    }
  }

  /** Returns the files of a folder with matching names; none when the folder is missing. */
  static List<Path> matching(Path folder, Pattern names) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(each -> names.matcher(each.getFileName().toString()).matches())
          .sorted() // the open segment is last
          .toList();
    } catch (NoSuchFileException none) {
      return List.of();
    }
  }

  /** Writes a snapshot atomically. */
  void write(TermIndex at, DesiredState state) throws IOException {
    File file = getSnapshotFile(at.getTerm(), at.getIndex());
    AtomicFileOutputStream out =
        new AtomicFileOutputStream(file, getTmpSnapshotFile(at.getTerm(), at.getIndex()));
    try {
      out.write(StateStoreRecords.file(state.whole()));
      out.close(); // forced, then renamed
    } catch (IOException failed) {
      out.abort();
      throw failed;
    }
    MD5Hash digest = MD5FileUtil.computeAndSaveMd5ForFile(file);
    updateLatestSnapshot(new SingleFileSnapshotInfo(new FileInfo(file.toPath(), digest), at));
  }
}
