package dev.berth.desired;

import dev.berth.code.DamagedFiles;
import dev.berth.code.StartFailedException;
import dev.berth.desired.StateStoreRecords.Contents;
import dev.berth.desired.StateStoreRecords.End;
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
 * Keeps the {@link DesiredState} on a disk: a file that begins with all of it and goes on with its
 * changes. A change is on the disk when {@link #append} returns; it costs what it is large. When
 * the changes outgrow what they began with, a new file is written beside the old one and takes its
 * place by its name, a higher number. The file before it is kept, so that a damaged beginning loses
 * nothing of what was there when it was written.
 *
 * <p>After a failure the file may hold a part of what failed: that is cut off again before anything
 * else is written, or a new file is begun. May block; one caller at a time.
 *
 * <p>Sources: the journals of etcd and SQLite's WAL; what a failed fsync leaves behind: Rebello et
 * al., "Can Applications Recover from fsync Failures?", 2020.
 */
final class StateStore implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StateStore.class);
  private static final Pattern NAME = Pattern.compile("state-(\\d{8})");
  private static final Pattern ASIDE = Pattern.compile("state-\\d{8}\\.corrupt-(\\d{1,9})");
  private static final String BEING_WRITTEN = ".tmp";

  /** Holds the number of the last change that was kept. Not forced: it may lag, and never leads. */
  private static final String ACKNOWLEDGED = "acknowledged";

  /** Changes of so many bytes are kept before a new file is written, however small the state. */
  static final long LEAST_GROWTH = 1 << 20;

  private final StateStoreFiles files;
  private final long leastGrowth;
  private final List<String> damaged = new ArrayList<>(); // to be put aside
  private StateStoreFiles.@Nullable Output output; // null: a new file is to be begun
  private StateStoreFiles.@Nullable Output acknowledged; // once there is something to write
  private long told = -1; // what was acknowledged, as far as is known
  private boolean crowded; // the disk is full: the changes are to become one
  private int generation; // the highest number ever used
  private DesiredState recovered = DesiredState.EMPTY;
  private long sequence; // of the last change
  private long wholeBytes; // of the file when it was begun
  private long end; // of what is good in it

  private StateStore(StateStoreFiles files, long leastGrowth) {
    this.files = files;
    this.leastGrowth = leastGrowth;
  }

  /**
   * Reads what is there.
   *
   * @param leastGrowth bytes before the changes become one; {@link #LEAST_GROWTH}
   * @throws IOException when the directory cannot be read
   * @throws StartFailedException when another version wrote it
   */
  static StateStore open(StateStoreFiles files, long leastGrowth) throws IOException {
    StateStore store = new StateStore(files, leastGrowth);
    store.recover();
    return store;
  }

  /** What was there when it was opened. */
  DesiredState recovered() {
    return recovered;
  }

  /** Whether something was ever kept here. */
  boolean isUsed() {
    return generation > 0;
  }

  private void recover() throws IOException {
    List<String> all = files.list();
    for (String name : all) {
      if (name.endsWith(BEING_WRITTEN)) {
        files.delete(name); // nobody was told of it
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
      LOG.error("state: none of {} can be read: nothing is known of what was deployed", names);
    }
  }

  /** Of all names in a directory those that make a journal, the newest last. */
  static List<String> journal(List<String> all) {
    return all.stream().filter(name -> NAME.matcher(name).matches()).sorted().toList();
  }

  /** From 1; 0 of a name of another kind. */
  private static int number(Pattern kind, String name) {
    Matcher matcher = kind.matcher(name);
    return matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
  }

  private static String name(int generation) {
    return String.format(Locale.ROOT, "state-%08d", generation);
  }

  /** Whether the file has a beginning, so that the state is what it says. */
  private boolean take(String name, Contents contents) throws IOException {
    if (contents.end() == End.OTHER_FORM) {
      throw new StartFailedException(
          ("state: %s: %s (expected: format %s as this version writes it; set berth.state_dir to"
                  + " another directory, and deploy there what berth config of the version that"
                  + " wrote this one prints)")
              .formatted(files.path(name), contents.what(), StateStoreRecords.VERSION));
    }
    if (contents.records().isEmpty()) {
      LOG.error("state: {}: damaged: {}; the file before it is used", name, contents.what());
      damaged.add(name);
      return false;
    }
    recovered = DesiredState.EMPTY.with(contents.records());
    sequence = recovered.index();
    if (contents.end() == End.CORRUPT) {
      LOG.error(
          "state: {}: damaged: {}; {} changes before it are used, what follows is lost",
          name,
          contents.what(),
          contents.records().size() - 1);
      damaged.add(name);
    } else if (contents.end() == End.UNSURE && told != sequence) {
      LOG.warn("state: {}: {}: it was being written, or is damaged", name, contents.what());
      damaged.add(name);
    } else if (told > sequence && damaged.isEmpty()) {
      damaged.add(name);
    }
    if (told > sequence) {
      LOG.warn(
          "state: {}: cut: changes {} to {}, of which operators were told, are missing{}",
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

  /** Writes on behind what is good; what is not was never acknowledged. */
  private void goOn(String name, Contents contents) throws IOException {
    StateStoreFiles.Output found = files.open(name);
    if (contents.end() != End.WHOLE) {
      LOG.info("state: {}: {}, not yet acknowledged, is cut off", name, contents.what());
      try {
        found.truncate(contents.goodBytes());
        found.force();
      } catch (IOException failed) {
        LOG.warn("state: {}: cannot be cut off: {}", name, failed.toString());
        closeQuietly(found);
        return; // a new file is begun
      }
    }
    output = found;
    end = contents.goodBytes();
    wholeBytes = contents.wholeBytes();
  }

  /**
   * Keeps one more change.
   *
   * @param before the state that it builds on, for when a new file is begun: there may be changes
   *     in it that are not here
   * @throws IOException when it is not kept; the next one may be
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

  /** Whether a new file may not fit beside this one. */
  boolean isFull() {
    return files.room() <= LEAST_GROWTH + 3 * wholeBytes;
  }

  /**
   * On a full disk lets go of what only a damaged file would be read for; whether there was any.
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
      LOG.debug("state: old files are not removed: {}", failed.toString());
    }
    LOG.warn("state: the disk is full: the changes of {} become one", name(generation));
    crowded = true;
    return true;
  }

  /** What fails here is not missed but after a file was cut. */
  private void acknowledge() {
    told = sequence;
    try {
      StateStoreFiles.Output file = acknowledged;
      if (file == null) {
        file = files.open(ACKNOWLEDGED);
        acknowledged = file;
      }
      file.write(ByteBuffer.wrap(StateStoreRecords.number(sequence)), 0);
    } catch (IOException failed) {
      LOG.debug("state: {} is not written: {}", ACKNOWLEDGED, failed.toString());
    }
  }

  /**
   * @param spare whether the old file can be written on if there is no room for a new one
   */
  private void begin(DesiredChange whole, boolean spare) throws IOException {
    String name = name(generation + 1);
    StateStoreFiles.@Nullable Output made = null;
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
        LOG.warn("state: {} cannot be begun, {} grows on: {}", name, old, failed.toString());
        return;
      }
      throw failed;
    }
    // From here on the new file may be found by a start, so nothing more goes to the old one.
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
    StateStoreFiles.Output file = output;
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

  /** After a failed force nobody knows what is on the disk: that file is not written to again. */
  private void cutOff(StateStoreFiles.Output file, boolean forceFailed, IOException first) {
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

  /** Keeps the file before this one, and puts damaged ones aside. What fails here is done later. */
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
            LOG.info("state: {}: removed, the newest {} stay", name, DamagedFiles.MAX_KEPT);
          }
        }
      }
    } catch (IOException failed) {
      LOG.warn("state: old files are not removed: {}", failed.toString());
    }
  }

  private void deleteQuietly(String name) {
    try {
      files.delete(name);
    } catch (IOException failed) {
      LOG.debug("state: {} is not removed: {}", name, failed.toString());
    }
  }

  private static void closeQuietly(StateStoreFiles.@Nullable Output output) {
    if (output != null) {
      try {
        output.close();
      } catch (IOException failed) {
        LOG.debug("state: a file does not close: {}", failed.toString());
      }
    }
  }

  /** Gives the directory back. */
  @Override
  public void close() throws IOException {
    closeFiles();
    files.close();
  }

  /** Nothing is written any more; the directory is still held. */
  void closeFiles() {
    closeQuietly(output);
    closeQuietly(acknowledged);
    output = null;
  }
}
