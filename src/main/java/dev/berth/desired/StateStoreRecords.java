package dev.berth.desired;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The file format of the {@link StateStore}: a file head, then records, each with a {@link
 * DesiredChange} that builds on the previous ones.
 *
 * <pre>
 *   file   = "BERTHST" version(1 byte) crc(4, of the two) record*
 *   record = length(4) sequence(8) crc(4, of the two) crc(4, of the payload) payload(JSON, UTF-8)
 * </pre>
 *
 * The head of a record has a checksum of its own. A valid head whose record ends beyond the file
 * therefore marks an interrupted write, not a wrong length.
 */
public final class StateStoreRecords {
  private static final byte[] MAGIC = "BERTHST".getBytes(StandardCharsets.US_ASCII);
  static final byte VERSION = 2;

  /** Oldest readable version, without the chain of commands. */
  private static final byte OLDEST = 1;

  /** Bytes before the first record. */
  static final int FILE_HEAD = MAGIC.length + 1 + 4;

  private static final int RECORD_HEAD = 4 + 8 + 4 + 4;

  /** The kind of a file's end. */
  enum StateFileEnd {
    /** The last record is complete. */
    WHOLE,
    /** The last record was being written and never acknowledged. */
    TORN,
    /** The last record was being written, or is damaged. */
    UNSURE,
    /** A damaged record is followed by others. */
    CORRUPT,
    /** Another version wrote the next record; reading ends there. */
    OTHER_FORM
  }

  /**
   * The contents of a file.
   *
   * @param records changes with consecutive numbers, up to the end or the first invalid record
   * @param wholeBytes end of the first record, in bytes
   * @param goodBytes length of the valid part
   * @param what description of the invalid rest; empty when there is none
   */
  record StateFileContents(
      List<DesiredChange> records,
      long wholeBytes,
      long goodBytes,
      StateFileEnd end,
      String what) {}

  private StateStoreRecords() {}

  static byte[] fileHead(byte version) {
    byte[] head = Arrays.copyOf(MAGIC, FILE_HEAD);
    head[MAGIC.length] = version;
    ByteBuffer.wrap(head).putInt(MAGIC.length + 1, crc(head, 0, MAGIC.length + 1));
    return head;
  }

  /** Returns the bytes of a file with one change. */
  public static byte[] file(DesiredChange change) {
    ByteBuffer record = record(change);
    return ByteBuffer.allocate(FILE_HEAD + record.remaining())
        .put(fileHead(VERSION))
        .put(record)
        .array();
  }

  /**
   * Reads the output of {@link #file}.
   *
   * @throws IOException when it is damaged, or of another version
   */
  public static DesiredChange change(byte[] file) throws IOException {
    StateFileContents contents = read(file);
    if (contents.end() != StateFileEnd.WHOLE || contents.records().size() != 1) {
      throw new IOException(
          contents.what().isEmpty() ? contents.records().size() + " records" : contents.what());
    }
    return contents.records().get(0);
  }

  static ByteBuffer record(DesiredChange change) {
    byte[] payload = change.toJson().encode().getBytes(StandardCharsets.UTF_8);
    ByteBuffer record = ByteBuffer.allocate(RECORD_HEAD + payload.length);
    record.putInt(payload.length).putLong(change.index());
    record.putInt(crc(record.array(), 0, 12)).putInt(crc(payload, 0, payload.length));
    return record.put(payload).flip();
  }

  static StateFileContents read(byte[] file) {
    List<DesiredChange> records = new ArrayList<>();
    if (file.length < FILE_HEAD) {
      return new StateFileContents(records, 0, 0, StateFileEnd.TORN, file.length + " bytes");
    }
    byte version = file[MAGIC.length];
    if (!Arrays.equals(file, 0, FILE_HEAD, fileHead(version), 0, FILE_HEAD)) {
      return new StateFileContents(
          records, 0, 0, StateFileEnd.CORRUPT, "not a file of desired state");
    }
    if (version < OLDEST || version > VERSION) {
      return new StateFileContents(records, 0, 0, StateFileEnd.OTHER_FORM, "format " + version);
    }
    int at = FILE_HEAD;
    int whole = at;
    while (at < file.length) {
      ByteBuffer rest = ByteBuffer.wrap(file, at, file.length - at).slice();
      RecordReadResult verdict = next(rest, records);
      if (verdict.end != StateFileEnd.WHOLE) {
        boolean lost = verdict.end != StateFileEnd.OTHER_FORM && goesOn(file, at + 1, records);
        StateFileEnd end = lost ? StateFileEnd.CORRUPT : verdict.end;
        return new StateFileContents(records, whole, at, end, verdict.what + " at byte " + at);
      }
      at += rest.position();
      whole = records.size() == 1 ? at : whole;
    }
    return new StateFileContents(records, whole, at, StateFileEnd.WHOLE, "");
  }

  /** Returns whether a later record follows: the one before it was then complete once. */
  private static boolean goesOn(byte[] file, int from, List<DesiredChange> records) {
    long last = records.isEmpty() ? 0 : records.get(records.size() - 1).index();
    long most = last + 1 + file.length / RECORD_HEAD;
    ByteBuffer all = ByteBuffer.wrap(file);
    for (int at = from; at <= file.length - RECORD_HEAD; at++) {
      long sequence = all.getLong(at + 4);
      if (sequence > last + 1 && sequence <= most && all.getInt(at + 12) == crc(file, at, 12)) {
        return true;
      }
    }
    return false;
  }

  private record RecordReadResult(StateFileEnd end, String what) {}

  /** Reads one record and adds it, or returns the error. */
  private static RecordReadResult next(ByteBuffer rest, List<DesiredChange> records) {
    int available = rest.remaining();
    if (available < RECORD_HEAD) {
      return new RecordReadResult(
          StateFileEnd.TORN, "a record with only " + available + " bytes present");
    }
    int length = rest.getInt();
    long sequence = rest.getLong();
    if (rest.getInt() != crc(rest.array(), rest.arrayOffset(), 12)) {
      return isBlank(rest.array(), rest.arrayOffset())
          ? new RecordReadResult(StateFileEnd.TORN, "nothing")
          : new RecordReadResult(
              StateFileEnd.UNSURE, "a record whose head does not match its checksum");
    }
    int payloadCrc = rest.getInt();
    if (length < 0 || length > rest.remaining()) {
      return new RecordReadResult(
          StateFileEnd.TORN,
          "a record of " + length + " bytes with only " + rest.remaining() + " present");
    }
    int from = rest.arrayOffset() + rest.position();
    if (payloadCrc != crc(rest.array(), from, length)) {
      StateFileEnd end =
          hasHole(rest.array(), from, length) ? StateFileEnd.TORN : StateFileEnd.UNSURE;
      return new RecordReadResult(end, "a record that does not match its checksum");
    }
    rest.position(rest.position() + length);
    if (!records.isEmpty() && sequence != records.get(records.size() - 1).index() + 1) {
      return new RecordReadResult(StateFileEnd.CORRUPT, "a record with number " + sequence);
    }
    String json = new String(rest.array(), from, length, StandardCharsets.UTF_8);
    try {
      records.add(DesiredChange.of(sequence, new JsonObject(json)));
      return new RecordReadResult(StateFileEnd.WHOLE, "");
    } catch (RuntimeException notOne) { // another form, not damage: the checksum fits
      return new RecordReadResult(StateFileEnd.OTHER_FORM, "a record of another form");
    }
  }

  /** Returns whether a record head is blank: a file may grow before its bytes are written. */
  private static boolean isBlank(byte[] file, int from) {
    return Arrays.equals(file, from, from + RECORD_HEAD, new byte[RECORD_HEAD], 0, RECORD_HEAD);
  }

  /**
   * Returns whether a payload has unwritten bytes: JSON has no zeros. A single zero, unless it is
   * the last byte, may be a flipped bit.
   */
  private static boolean hasHole(byte[] file, int from, int length) {
    for (int i = from + 1; i < from + length; i++) {
      if (file[i] == 0 && (file[i - 1] == 0 || i == from + length - 1)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the bytes of a single number. */
  public static byte[] number(long number) {
    ByteBuffer all = ByteBuffer.allocate(12).putLong(number);
    return all.putInt(crc(all.array(), 0, 8)).array();
  }

  /** Reads the output of {@link #number(long)}; -1 for other bytes. */
  public static long number(byte[] written) {
    ByteBuffer all = ByteBuffer.wrap(written);
    boolean good = written.length == 12 && all.getInt(8) == crc(written, 0, 8);
    return good ? all.getLong(0) : -1;
  }

  private static int crc(byte[] bytes, int from, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, length);
    return (int) crc.getValue();
  }
}
