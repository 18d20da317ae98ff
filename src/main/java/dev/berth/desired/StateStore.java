package dev.berth.desired;

import dev.berth.code.DamagedFiles;
import dev.berth.code.StartFailedException;
import dev.berth.desired.StateStoreRecords.StateFileContents;
import dev.berth.desired.StateStoreRecords.StateFileEnd;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores the {@link DesiredState} on a disk, in a file with a whole state and the changes after it.
 *
 * <p><b>State.</b> A change is on the disk when {@link #append} returns; its cost is its size. When
 * the changes outgrow the whole state, a new file with a higher number replaces the present one.
 * The previous file stays, so that damage at the beginning of the new one loses nothing older.
 *
 * <p><b>Failure.</b> After a failed write the file may contain a part of the change. The store
 * truncates that part before the next write, or begins a new file.
 *
 * <p><b>Concurrency.</b> May block; one caller at a time.
 *
 * <p>Sources: the journals of etcd and SQLite's WAL; the effects of a failed fsync: Rebello et al.,
 * "Can Applications Recover from fsync Failures?", 2020.
 */
final class StateStore implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StateStore.class);
  private static final Pattern NAME = Pattern.compile("state-(\\d{8})");
  private static final Pattern ASIDE = Pattern.compile("state-\\d{8}\\.corrupt-(\\d{1,9})");
  private static final String BEING_WRITTEN = ".tmp";

  /** File with the number of the last persisted change. Not forced: it may lag, and never leads. */
  private static final String ACKNOWLEDGED = "acknowledged";

  /** Minimum size of the changes in bytes before a new file is written, however small the state. */
  static final long MIN_GROWTH_BYTES = 1 << 20;

  private final StateStoreFiles files;
  private final long leastGrowth;
  private final List<String> damaged = new ArrayList<>(); // files to rename
  private StateStoreFiles.@Nullable StateFileOutput output; // null: a new file is needed
  private StateStoreFiles.@Nullable StateFileOutput acknowledged; // null until the first write
  private long told = -1; // last acknowledged number, as far as known
  private boolean crowded; // disk full: the next change compacts the file
  private int generation; // highest number ever used

  /** The state that was recovered on open. */
  DesiredState recovered = DesiredState.EMPTY;

  private long sequence; // number of the last change
  private long wholeBytes; // file size at its begin
  private long end; // length of the valid part

  /**
   * Opens a store and reads its files.
   *
   * @param leastGrowth minimum size of the changes before a new file; {@link #MIN_GROWTH_BYTES}
   * @throws IOException when the directory cannot be read
   * @throws StartFailedException when another version wrote it
   */
  StateStore(StateStoreFiles files, long leastGrowth) throws IOException {
    this.files = files;
    this.leastGrowth = leastGrowth;
    recover();
  }

  /** Returns whether any state was ever stored here. */
  boolean isUsed() {
    return generation > 0;
  }

  private void recover() throws IOException {
    List<String> all = files.list();
    for (String name : all) {
      if (name.endsWith(BEING_WRITTEN)) {
        files.delete(name); // never acknowledged
      } else if (name.equals(ACKNOWLEDGED)) {
        told = StateStoreRecords.number(files.read(name));
      }
    }
    List<String> names = journal(all);
    for (int i = names.size() - 1; i >= 0; i--) {
      generation = Math.max(generation, number(NAME, names.get(i)));
      if (take(names.get(i), StateStoreRecords.read(files.read(names.get(i))))) {
        return;
      }
    }
    if (!names.isEmpty()) {
      LOG.error("state: none of {} is readable: starting without deployed applications", names);
    }
  }

  /** Returns the names of a directory that belong to a journal, newest last. */
  static List<String> journal(List<String> all) {
    return all.stream().filter(name -> NAME.matcher(name).matches()).sorted().toList();
  }

  /** Returns the number in a name, from 1; 0 for a name of another kind. */
  private static int number(Pattern kind, String name) {
    Matcher matcher = kind.matcher(name);
    return matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
  }

  private static String name(int generation) {
    return String.format(Locale.ROOT, "state-%08d", generation);
  }

  /** Recovers the state from a file; returns false when its beginning is damaged. */
  private boolean take(String name, StateFileContents contents) throws IOException {
    if (contents.end() == StateFileEnd.OTHER_FORM) {
      throw new StartFailedException(
          ("state: %s: %s (expected: format %s of this version; set berth.state_dir to another"
                  + " directory, and deploy there the output of berth config from the version that"
                  + " wrote this one)")
              .formatted(files.path(name), contents.what(), StateStoreRecords.VERSION));
    }
    if (contents.records().isEmpty()) {
      LOG.error("state: {}: damaged: {}: using the file before it", name, contents.what());
      damaged.add(name);
      return false;
    }
    recovered = DesiredState.EMPTY.with(contents.records());
    sequence = recovered.index();
    if (contents.end() == StateFileEnd.CORRUPT) {
      LOG.error(
          "state: {}: damaged: {}: using {} changes before it, losing the rest",
          name,
          contents.what(),
          contents.records().size() - 1);
      damaged.add(name);
    } else if (contents.end() == StateFileEnd.UNSURE && told != sequence) {
      LOG.warn("state: {}: {}: incomplete or damaged", name, contents.what());
      damaged.add(name);
    } else if (told > sequence && damaged.isEmpty()) {
      damaged.add(name);
    }
    if (told > sequence) {
      LOG.warn(
          "state: {}: truncated: acknowledged changes {} to {} are missing{}",
          name,
          sequence + 1,
          told,
          contents.what().isEmpty() ? "" : "; it ends with " + contents.what());
    }
    if (damaged.isEmpty()) {
      goOn(name, contents);
    }
    return true;
  }

  /** Continues a file after its valid part; the rest was never acknowledged. */
  private void goOn(String name, StateFileContents contents) throws IOException {
    StateStoreFiles.StateFileOutput found = files.open(name);
    if (contents.end() != StateFileEnd.WHOLE) {
      LOG.info("state: {}: {}, not yet acknowledged: removed", name, contents.what());
      try {
        found.truncate(contents.goodBytes());
        found.force();
      } catch (IOException failed) {
        LOG.warn("state: {}: not truncated: {}", name, failed.toString());
        closeQuietly(found);
        return; // the next change begins a new file
      }
    }
    output = found;
    end = contents.goodBytes();
    wholeBytes = contents.wholeBytes();
  }

  /**
   * Stores a change.
   *
   * @param before state that the change was computed on, for a new file; it may contain changes
   *     that are not stored here
   * @throws IOException when it is not stored; the next one may be
   */
  void append(DesiredChange change, DesiredState before) throws IOException {
    try {
      keep(change, before);
    } catch (IOException failed) {
      if (!makeRoom()) {
        throw failed;
      }
      keep(change, before);
    }
    sequence = change.index();
    acknowledge();
  }

  private void keep(DesiredChange change, DesiredState before) throws IOException {
    boolean grown = end - wholeBytes > Math.max(leastGrowth, 2 * wholeBytes);
    boolean whole = before.index() == sequence;
    if (output == null || grown || !whole || crowded && end > wholeBytes) {
      begin(before.whole(), output != null && whole);
    }
    crowded = false;
    write(StateStoreRecords.record(change));
  }

  /** Returns whether a new file may not fit beside this one. */
  boolean isFull() {
    return files.room() <= MIN_GROWTH_BYTES + 3 * wholeBytes;
  }

  /**
   * Deletes files on a full disk that only a damaged newer file would need; returns whether the
   * caller should retry.
   */
  private boolean makeRoom() {
    if (!damaged.isEmpty() || !isFull()) {
      return false;
    }
    try {
      List<String> names = files.list();
      int newest = names.stream().mapToInt(name -> number(NAME, name)).max().orElse(0);
      for (String name : names) {
        int own = number(NAME, name);
        if (own > 0 && own != newest || number(ASIDE, name) > 0) {
          files.delete(name);
        }
      }
    } catch (IOException failed) {
      LOG.debug("state: old files not removed: {}", failed.toString());
    }
    LOG.warn("state: disk full: joining the changes of {}", name(generation));
    crowded = true;
    return true;
  }

  /** Records the last number. A failed write matters only after a file was truncated. */
  private void acknowledge() {
    told = sequence;
    try {
      StateStoreFiles.StateFileOutput file = acknowledged;
      if (file == null) {
        file = files.open(ACKNOWLEDGED);
        acknowledged = file;
      }
      file.write(ByteBuffer.wrap(StateStoreRecords.number(sequence)), 0);
    } catch (IOException failed) {
      LOG.debug("state: {} not written: {}", ACKNOWLEDGED, failed.toString());
    }
  }

  /**
   * Begins a new file with a whole state.
   *
   * @param spare whether the old file can continue when the disk is too full for a new one
   */
  private void begin(DesiredChange whole, boolean spare) throws IOException {
    String name = name(generation + 1);
    StateStoreFiles.@Nullable StateFileOutput made = null;
    long length;
    try {
      files.delete(name + BEING_WRITTEN);
      made = files.open(name + BEING_WRITTEN);
      byte[] head = StateStoreRecords.fileHead(StateStoreRecords.VERSION);
      ByteBuffer record = StateStoreRecords.record(whole);
      length = head.length + record.remaining();
      made.write(ByteBuffer.wrap(head), 0);
      made.write(record, head.length);
      made.force();
    } catch (IOException failed) {
      closeQuietly(made);
      deleteQuietly(name + BEING_WRITTEN);
      if (spare) {
        String old = name(generation);
        LOG.warn("state: {} not created: appending to {}: {}", name, old, failed.toString());
        return;
      }
      throw failed;
    }
    // From here on a start may find the new file, so nothing is written to the old one.
    closeQuietly(output);
    output = null;
    int old = generation;
    generation++;
    try {
      files.rename(name + BEING_WRITTEN, name);
      files.forceNames();
    } catch (IOException failed) {
      closeQuietly(made);
      throw failed;
    }
    output = made;
    sequence = whole.index();
    end = length;
    wholeBytes = length;
    tidy(old);
  }

  private void write(ByteBuffer record) throws IOException {
    StateStoreFiles.StateFileOutput file = output;
    if (file == null) {
      throw new IOException("state: no file to write to (expected: one)");
    }
    long length = record.remaining();
    boolean written = false;
    try {
      file.write(record, end);
      written = true;
      file.force();
      end += length;
    } catch (IOException failed) {
      cutOff(file, written, failed);
      throw failed;
    }
  }

  /**
   * Truncates a failed write. After a failed force the content of the disk is unknown, so that file
   * is not written again.
   */
  private void cutOff(
      StateStoreFiles.StateFileOutput file, boolean forceFailed, IOException first) {
    try {
      file.truncate(end);
      file.force();
      if (!forceFailed) {
        return;
      }
    } catch (IOException second) {
      first.addSuppressed(second);
    }
    output = null;
    closeQuietly(file);
  }

  /**
   * Deletes all files before the previous one, and renames damaged ones. The next call repeats
   * failed steps.
   */
  private void tidy(int before) {
    try {
      int aside = files.list().stream().mapToInt(name -> number(ASIDE, name)).max().orElse(0);
      for (String name : List.copyOf(damaged)) {
        files.rename(name, name + ".corrupt-" + ++aside);
        damaged.remove(name);
      }
      for (String name : files.list()) {
        int put = number(ASIDE, name);
        int own = number(NAME, name);
        if (put > 0 && put <= aside - DamagedFiles.MAX_KEPT || own > 0 && own < before) {
          files.delete(name);
          if (put > 0) {
            LOG.info("state: {}: removed all but the newest {}", name, DamagedFiles.MAX_KEPT);
          }
        }
      }
    } catch (IOException failed) {
      LOG.warn("state: old files not removed: {}", failed.toString());
    }
  }

  private void deleteQuietly(String name) {
    try {
      files.delete(name);
    } catch (IOException failed) {
      LOG.debug("state: {} not removed: {}", name, failed.toString());
    }
  }

  private static void closeQuietly(StateStoreFiles.@Nullable StateFileOutput output) {
    if (output != null) {
      try {
        output.close();
      } catch (IOException failed) {
        LOG.debug("state: file not closed: {}", failed.toString());
      }
    }
  }

  /** Closes the files and unlocks the directory. */
  @Override
  public void close() throws IOException {
    closeFiles();
    files.close();
  }

  /** Closes the files; the directory stays locked. */
  void closeFiles() {
    closeQuietly(output);
    closeQuietly(acknowledged);
    output = null;
  }
}
