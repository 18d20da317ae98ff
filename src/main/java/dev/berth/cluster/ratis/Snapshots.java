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
 * The whole state at an entry of the log, in a file with a checksum. Ratis looks at the name alone:
 * a damaged one is put aside before Ratis sees it, and the one before it is used, for whose
 * successors the log is kept.
 */
final class Snapshots extends SimpleStateMachineStorage {
  private static final Logger LOG = LoggerFactory.getLogger(Snapshots.class);

  /** The file of a part of the log, with the index of its first entry. */
  static final Pattern SEGMENT = Pattern.compile("log_(?:inprogress_)?(\\d+)(?:-\\d+)?");

  private static final String DAMAGED = "corrupt-";

  /**
   * Reads the newest that is whole.
   *
   * @throws IOException when the log does not go on behind it
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
      LOG.error("state: {}: damaged: {}; the one before it is used", file, damaged.getMessage());
      Path aside = file.resolveSibling(DAMAGED + file.getFileName());
      Files.move(file, aside, StandardCopyOption.REPLACE_EXISTING);
      DamagedFiles.removeOld(aside);
    }
  }

  /** Else Ratis would wait for a leader that has what is missing. */
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

  /** Files with such names in a folder, which may be missing. */
  static List<Path> matching(Path folder, Pattern names) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(each -> names.matcher(each.getFileName().toString()).matches())
          .sorted() // the open segment is the last
          .toList();
    } catch (NoSuchFileException none) {
      return List.of();
    }
  }

  /** Writes one; whole, or none. */
  void write(TermIndex at, DesiredState state) throws IOException {
    File file = getSnapshotFile(at.getTerm(), at.getIndex());
    AtomicFileOutputStream out =
        new AtomicFileOutputStream(file, getTmpSnapshotFile(at.getTerm(), at.getIndex()));
    try {
      out.write(StateStoreRecords.file(state.whole()));
      out.close(); // forced, and then moved
    } catch (IOException failed) {
      out.abort();
      throw failed;
    }
    MD5Hash digest = MD5FileUtil.computeAndSaveMd5ForFile(file);
    updateLatestSnapshot(new SingleFileSnapshotInfo(new FileInfo(file.toPath(), digest), at));
  }
}
