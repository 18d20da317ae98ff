package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.berth.code.DamagedFiles;
import dev.berth.code.StartFailedException;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.fakes.LogLines;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StateStoreTest {
  private static final long SMALL = 400; // bytes of changes before a new file

  /** A store, what it holds, and what was acknowledged. */
  private static final class Node {
    final StateStoreTestFiles disk;
    final StateStore store;
    DesiredState state;

    Node(StateStoreTestFiles disk) throws IOException {
      this(disk, SMALL);
    }

    Node(StateStoreTestFiles disk, long leastGrowth) throws IOException {
      this.disk = disk;
      this.store = new StateStore(disk, leastGrowth);
      this.state = store.recovered;
    }

    /** Whether it was kept. */
    boolean deploy(String application, String says) {
      return keep(state.deploy(application, wanted(says), null, 1));
    }

    void mark(String application, @Nullable String failure) {
      long revision = Objects.requireNonNull(state.find(application)).revision();
      assertThat(keep(state.mark(List.of(DesiredRig.announce(application, revision, failure)))))
          .isTrue();
    }

    private boolean keep(@Nullable DesiredChange found) {
      DesiredChange change = Objects.requireNonNull(found);
      try {
        store.append(change, state);
        state = state.with(List.of(change));
        return true;
      } catch (IOException failed) {
        return false;
      }
    }
  }

  private static ApplicationSpec wanted(String says) {
    return new ApplicationSpec(null, "{\"says\":\"" + says + "\"}", List.of(), false, says);
  }

  private static DesiredChange read(StateStoreTestFiles disk) throws IOException {
    return new Node(disk).state.whole();
  }

  private static String last(StateStoreTestFiles disk) {
    return disk.list().stream()
        .filter(each -> each.matches("state-\\d+"))
        .reduce((a, b) -> b)
        .get();
  }

  @Test
  void nothingIsWrittenUntilThereIsAChange() throws IOException {
    Node node = new Node(new StateStoreTestFiles());

    assertThat(node.store.isUsed()).isFalse();
    assertThat(node.disk.list()).isEmpty();
    node.deploy("a", "1");
    assertThat(node.store.isUsed()).isTrue();
  }

  @Test
  void whatWasAcknowledgedOutlastsAPowerCut() throws IOException {
    Node node = new Node(new StateStoreTestFiles());
    for (int i = 0; i < 40; i++) {
      assertThat(node.deploy("app" + i % 7, "v" + i)).isTrue();
      assertThat(read(node.disk.cut())).isEqualTo(node.state.whole());
      assertThat(read(node.disk.killed())).isEqualTo(node.state.whole());
    }
    assertThat(number(last(node.disk))).as("new files were begun").isGreaterThan(3);
    assertThat(node.disk.list())
        .filteredOn(name -> name.startsWith("state-"))
        .as("this one and the one before")
        .hasSize(2);
  }

  @Test
  void whatFailedIsKnownAgainWhateverCameAfter() throws IOException {
    Node node = new Node(new StateStoreTestFiles());
    node.deploy("a", "good");
    node.mark("a", null);
    node.deploy("a", "bad");
    node.mark("a", "no model");
    for (int i = 0; i < 20; i++) { // a new file is begun meanwhile
      assertThat(Objects.requireNonNull(new Node(node.disk.killed()).state.find("a")).failed())
          .isEqualTo("no model");
      node.deploy("b", "v" + i);
    }

    node.deploy("a", "bad");

    assertThat(number(last(node.disk))).isGreaterThan(1);
    assertThat(Objects.requireNonNull(new Node(node.disk.cut()).state.find("a")).failed()).isNull();
  }

  private static int number(String name) {
    return Integer.parseInt(name.substring("state-".length()));
  }

  @Test
  void aChangeCostsWhatItIsLargeAndNotWhatThereIs() throws IOException {
    long few = costOfOneChange(10);
    long many = costOfOneChange(1_000);
    assertThat(many).isBetween(few - 4, few + 4); // digits of the revision
  }

  private static long costOfOneChange(int applications) throws IOException {
    Node node = new Node(new StateStoreTestFiles(), StateStore.MIN_GROWTH_BYTES);
    for (int i = 0; i < applications; i++) {
      node.deploy("app" + i, "first");
    }
    long before = node.disk.bytes(last(node.disk)).length;
    int operations = node.disk.operations();
    node.deploy("app0", "other");
    assertThat(node.disk.operations() - operations)
        .as("a write and a force, and its number")
        .isEqualTo(3);
    return node.disk.bytes(last(node.disk)).length - before;
  }

  /** Changes in one file, and what there is after each, by the byte where it ends. */
  private record History(
      StateStoreTestFiles disk, byte[] file, NavigableMap<Integer, DesiredChange> ends) {
    static History of(int changes, int applications) throws IOException {
      Node node = new Node(new StateStoreTestFiles(), StateStore.MIN_GROWTH_BYTES);
      NavigableMap<Integer, DesiredChange> ends =
          new TreeMap<>(Map.of(0, DesiredState.EMPTY.whole()));
      for (int i = 0; i < changes; i++) {
        node.deploy("a" + i % applications, "v" + i);
        ends.put(node.disk.bytes("state-00000001").length, node.state.whole());
      }
      return new History(node.disk, node.disk.bytes("state-00000001"), ends);
    }

    /** What the first bytes tell. */
    DesiredChange until(int length) {
      return ends.floorEntry(length).getValue();
    }
  }

  /** Whatever byte it ends at, nothing that was whole before it is lost, and it can go on. */
  @Test
  void aFileThatEndsAnywhereIsCutOffWhereItWasLastWhole() throws IOException {
    History history = History.of(6, 2);
    byte[] whole = history.file;
    for (int length = 0; length < whole.length; length++) {
      StateStoreTestFiles torn = new StateStoreTestFiles();
      torn.put("state-00000001", Arrays.copyOf(whole, length));

      Node again = new Node(torn);

      assertThat(again.state.whole()).as("%d bytes", length).isEqualTo(history.until(length));
      assertThat(again.deploy("new", "one")).isTrue();
      assertThat(read(torn.cut())).as("%d bytes", length).isEqualTo(again.state.whole());
    }
  }

  @Test
  void whateverBitIsTurnedNothingBeforeItIsLostAndNothingWrongIsTakenForRight() throws IOException {
    History history = History.of(2, 1);
    byte[] whole = history.file;
    for (int bit = 0; bit < whole.length * 8; bit++) {
      byte[] turned = whole.clone();
      turned[bit / 8] ^= (byte) (1 << bit % 8);
      StateStoreTestFiles disk = new StateStoreTestFiles();
      disk.put("state-00000001", turned);

      Node again = new Node(disk);

      assertThat(again.state.whole()).as("bit %d", bit).isEqualTo(history.until(bit / 8));
      if (bit % 5 != 0) {
        continue; // how it goes on is looked at for some
      }
      assertThat(again.deploy("new", "one")).isTrue();
      assertThat(disk.list())
          .as("bit %d: the damaged file is kept aside", bit)
          .contains("state-00000001.corrupt-1");
      assertThat(disk.bytes("state-00000001.corrupt-1")).isEqualTo(turned);
      assertThat(read(disk.cut())).as("bit %d", bit).isEqualTo(again.state.whole());
    }
  }

  // --- a tail whose length was extended before its bytes were there ---

  /** Bytes of the last of three changes, and where it begins in the file. */
  private record Last(byte[] file, int from, DesiredChange before) {
    static Last of(Node node) {
      node.deploy("a", "first");
      node.deploy("b", "second");
      DesiredChange before = node.state.whole();
      int from = node.disk.bytes(last(node.disk)).length;
      node.deploy("c", "third".repeat(200));
      return new Last(node.disk.bytes(last(node.disk)), from, before);
    }

    /** With other bytes from there on, beside what earlier processes acknowledged. */
    StateStoreTestFiles with(int at, byte[] other, @Nullable Long told) {
      byte[] torn = file.clone();
      System.arraycopy(other, 0, torn, at, other.length);
      StateStoreTestFiles disk = new StateStoreTestFiles();
      disk.put("state-00000001", torn);
      if (told != null) {
        disk.put("acknowledged", StateStoreRecords.number(told));
      }
      return disk;
    }
  }

  private static List<String> aside(StateStoreTestFiles disk) {
    return disk.list().stream().filter(name -> name.contains("corrupt")).toList();
  }

  @Test
  void aTailOfWhichAPartIsZerosIsTornAndCutOff() throws IOException {
    Last last = Last.of(new Node(new StateStoreTestFiles(), StateStore.MIN_GROWTH_BYTES));
    for (int zeros = 1; zeros < last.file.length - last.from; zeros++) {
      int at = last.file.length - zeros;
      Node again = new Node(last.with(at, new byte[zeros], null));

      assertThat(again.state.whole()).as("%d zeros", zeros).isEqualTo(last.before);
      assertThat(again.deploy("new", "one")).isTrue();
      // Of a head of which a part is there, nobody can say whether it was damaged.
      boolean sure = at - last.from >= 16 || at - last.from <= 2;
      assertThat(aside(again.disk)).as("%d zeros", zeros).hasSize(sure ? 0 : 1);
      assertThat(read(again.disk.killed())).isEqualTo(again.state.whole());
    }
    // A block in the middle that was not written before the power was cut.
    Node again = new Node(last.with(last.from + 100, new byte[300], null));
    assertThat(again.state.whole()).isEqualTo(last.before);
    again.deploy("new", "one");
    assertThat(aside(again.disk)).isEmpty();
  }

  /** What was acknowledged may not be known: a power cut, or a file that is gone. */
  @Test
  void aHoleThatARecordFollowsIsDamageAndNoTail() throws IOException {
    Last last = Last.of(new Node(new StateStoreTestFiles(), StateStore.MIN_GROWTH_BYTES));
    Node again = new Node(last.with(last.from - 40, new byte[30], null));

    assertThat(again.state.applications()).hasSize(1);
    assertThat(again.deploy("new", "one")).isTrue();
    assertThat(aside(again.disk)).hasSize(1);
  }

  @Test
  void aTailOfGarbageIsTornWhenNobodyWasToldOfItAndElsePutAside() throws IOException {
    Last last = Last.of(new Node(new StateStoreTestFiles(), StateStore.MIN_GROWTH_BYTES));
    Random random = new Random(7);
    for (int at = last.from; at < last.file.length; at += 37) {
      byte[] garbage = new byte[last.file.length - at];
      random.nextBytes(garbage);
      for (int i = 0; i < garbage.length; i++) {
        garbage[i] = garbage[i] == 0 ? 1 : garbage[i]; // zeros may be a hole
      }
      for (Long told : new Long[] {2L, 3L, null}) {
        Node again = new Node(last.with(at, garbage, told));

        assertThat(again.state.whole()).as("from %d, told %s", at, told).isEqualTo(last.before);
        assertThat(again.deploy("new", "one")).isTrue();
        assertThat(aside(again.disk))
            .as("from %d, told %s", at, told)
            .hasSize(told != null && told == 2 ? 0 : 1);
        assertThat(read(again.disk.killed())).isEqualTo(again.state.whole());
      }
    }
  }

  @Test
  void whatOperatorsWereToldOfAndIsCutOffIsMissed() throws IOException {
    History history = History.of(5, 5);
    List<Integer> ends = List.copyOf(history.ends.keySet());
    for (int cut : new int[] {ends.get(2), ends.get(2) + 7, ends.get(3) - 1}) {
      StateStoreTestFiles disk = history.disk.killed();
      disk.put("state-00000001", Arrays.copyOf(disk.bytes("state-00000001"), cut));
      List<ILoggingEvent> lines = new ArrayList<>();
      Node again = logged(disk, lines);

      assertThat(lines)
          .singleElement()
          .satisfies(
              line -> {
                assertThat(line.getLevel()).isEqualTo(Level.WARN);
                assertThat(line.getFormattedMessage())
                    .startsWith(
                        "state: state-00000001: truncated: acknowledged changes 3 to 5 are missing");
              });
      assertThat(again.state.applications()).hasSize(2);
      again.deploy("new", "one");
      assertThat(aside(disk)).hasSize(1);
      assertThat(read(disk.killed())).isEqualTo(again.state.whole());
      lines.clear();
      logged(disk.killed(), lines);
      assertThat(lines).as("missed once").isEmpty();
    }
  }

  /** Opens it; adds what it warns of. */
  private static Node logged(StateStoreTestFiles disk, List<ILoggingEvent> lines)
      throws IOException {
    try (LogLines warnings = new LogLines(StateStore.class, Level.WARN)) {
      Node node = new Node(disk);
      lines.addAll(warnings.all());
      return node;
    }
  }

  @Test
  void aFullDiskIsCompactedBeforeAChangeIsRefused() throws IOException {
    Node node = new Node(new StateStoreTestFiles(), 4_000);
    String third = "state-00000003";
    for (int i = 0;
        !node.disk.list().contains(third) || node.disk.bytes(third).length < 2_500;
        i++) {
      node.deploy("app" + i % 3, "v" + i);
    }
    long both = node.disk.list().stream().mapToLong(name -> node.disk.bytes(name).length).sum();
    node.disk.capacity(both + 10); // room for a part of the next change

    for (int more = 0; more < 100; more++) {
      assertThat(node.deploy("app" + more % 3, "w" + more)).as("change %d", more).isTrue();
      assertThat(read(node.disk.killed())).isEqualTo(node.state.whole());
      assertThat(read(node.disk.cut())).isEqualTo(node.state.whole());
    }
    assertThat(node.deploy("large", "x".repeat(20_000))).as("it does not fit").isFalse();
    assertThat(read(node.disk.killed())).isEqualTo(node.state.whole());
    assertThat(node.deploy("app0", "y")).isTrue();
  }

  @Test
  void aDamagedBeginningFallsBackToTheFileBeforeIt() throws IOException {
    Node node = new Node(new StateStoreTestFiles());
    while (!node.disk.list().contains("state-00000003")) {
      node.deploy("a", "v" + node.disk.operations());
    }
    DesiredChange whole = node.state.whole();
    byte[] bytes = node.disk.bytes("state-00000003");
    bytes[StateStoreRecords.FILE_HEAD + 30] ^= 1;
    node.disk.put("state-00000003", bytes);

    Node again = new Node(node.disk);

    // The change that the new file was begun for is in it alone; all before it is in the old one.
    assertThat(again.state.applications()).hasSize(1);
    assertThat(again.state.whole().head().revision()).isEqualTo(whole.head().revision() - 1);
    again.deploy("b", "1");
    assertThat(node.disk.list()).contains("state-00000003.corrupt-1", "state-00000004");
    assertThat(read(node.disk.cut())).isEqualTo(again.state.whole());
  }

  @Test
  void damagedFilesThatAreKeptAsideAreBounded() throws IOException {
    StateStoreTestFiles disk = new StateStoreTestFiles();
    for (int i = 0; i < 8; i++) {
      Node node = new Node(disk);
      node.deploy("a", "v" + i);
      byte[] bytes = disk.bytes(last(disk));
      bytes[bytes.length - 1] ^= 1;
      disk.put(last(disk), bytes);
    }
    new Node(disk).deploy("a", "last");

    assertThat(disk.list())
        .filteredOn(name -> name.contains("corrupt"))
        .hasSize(DamagedFiles.MAX_KEPT)
        .allMatch(name -> name.matches(".*-(6|7|8)"));
  }

  @Test
  void aFileOfAnotherFormatIsRefused() {
    assertRefused(StateStoreRecords.fileHead((byte) 3), "format 3");
  }

  @Test
  void aRecordOfAnotherFormIsRefusedAndNotTakenForADamagedOne() {
    assertRecordRefused("{'revision':7,'term':2,'removed':{},'applications':[]}");
  }

  /** What there was before it was known who has said what of each application. */
  @Test
  void aStateThatKnowsItsFileByOneDigestIsRefused() {
    assertRecordRefused(
        "{'revision':7,'term':2,'file':'abc','target_capacity':50,'removed':[],'applications':[]}");
  }

  private static void assertRecordRefused(String json) {
    byte[] payload = json.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    ByteBuffer head = ByteBuffer.allocate(20).putInt(payload.length).putLong(1);
    head.putInt(crc(head.array(), 12)).putInt(crc(payload, payload.length));
    ByteBuffer file = ByteBuffer.allocate(StateStoreRecords.FILE_HEAD + 20 + payload.length);
    file.put(StateStoreRecords.fileHead(StateStoreRecords.VERSION)).put(head.array()).put(payload);

    assertRefused(file.array(), "a record of another form at byte " + StateStoreRecords.FILE_HEAD);
  }

  private static int crc(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }

  private static void assertRefused(byte[] file, String what) {
    StateStoreTestFiles disk = new StateStoreTestFiles();
    disk.put("state-00000001", file);

    assertThatThrownBy(() -> new Node(disk))
        .isInstanceOf(StartFailedException.class)
        .hasMessage(
            "state: state-00000001: %s (expected: format 2 of this version; set"
                + " berth.state_dir to another directory, and deploy there the output of berth config"
                + " from the version that wrote this one)",
            what);
    assertThat(disk.list()).containsExactly("state-00000001");
  }

  /** Each operation of a long history fails once, or for good until the disk is healed. */
  @Test
  void whateverOperationFailsNothingAcknowledgedIsLostAndNothingRefusedComesTrue()
      throws IOException {
    Node count = new Node(new StateStoreTestFiles());
    deployMany(count);
    int operations = count.disk.operations();
    assertThat(operations).isGreaterThan(40);
    for (int failing = 0; failing < operations; failing++) {
      for (boolean stays : new boolean[] {false, true}) {
        StateStoreTestFiles disk = new StateStoreTestFiles();
        Node node = new Node(disk);
        disk.failAfter(failing, stays);
        deployMany(node);
        String what = "operation " + failing + (stays ? " and all after it" : "");
        if (!stays) { // else what could not be cut off either may be found by a start
          assertThat(read(disk.killed())).as(what).isEqualTo(node.state.whole());
        }
        disk.heal();
        assertThat(node.deploy("healed", "v")).as(what).isTrue();
        assertThat(read(disk.killed())).as(what).isEqualTo(node.state.whole());
        assertThat(read(disk.cut())).as(what).isEqualTo(node.state.whole());
      }
    }
  }

  private static void deployMany(Node node) {
    for (int i = 0; i < 14; i++) {
      node.deploy("app" + i % 3, "v" + i);
    }
  }

  @Test
  void aFullDiskRefusesChangesUntilThereIsRoomAgain() throws IOException {
    Node node = new Node(new StateStoreTestFiles());
    node.deploy("a", "1");
    DesiredChange before = node.state.whole();
    node.disk.full(true);
    for (int i = 0; i < 5; i++) {
      assertThat(node.deploy("a", "v" + i)).isFalse();
    }
    assertThat(node.state.whole()).isEqualTo(before);
    node.disk.full(false);
    assertThat(node.deploy("a", "2")).isTrue();
    assertThat(read(node.disk.killed())).isEqualTo(node.state.whole());
  }

  /** Crashes, torn tails and failures in any order, with what was acknowledged beside it. */
  @Test
  void aLongLifeOfCrashesAndFailuresLosesNothing() throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    StateStoreTestFiles disk = new StateStoreTestFiles();
    Node node = new Node(disk);
    for (int i = 0; i < 3_000; i++) {
      switch (random.nextInt(20)) {
        case 0 -> disk.failAfter(random.nextInt(6), random.nextBoolean());
        case 1 -> disk.heal();
        case 2 -> {
          disk.heal();
          assertThat(node.deploy("x", "h" + i)).as("seed %d, step %d", seed, i).isTrue();
          disk = random.nextBoolean() ? disk.cut() : disk.killed();
          DesiredChange acknowledged = node.state.whole();
          node = new Node(disk);
          assertThat(node.state.whole()).as("seed %d, step %d", seed, i).isEqualTo(acknowledged);
        }
        default -> node.deploy("app" + random.nextInt(6), "v" + i);
      }
    }
  }

  @Test
  void aDirectoryOnADiskIsForItsOwnerAloneAndHeldByOneInstance(@TempDir Path folder)
      throws IOException {
    Path directory = folder.resolve("a/state");
    DesiredState state = DesiredState.EMPTY;
    try (StateStore store =
        new StateStore(
            Objects.requireNonNull(StateStoreDisk.hold(directory)), StateStore.MIN_GROWTH_BYTES)) {
      DesiredChange change = Objects.requireNonNull(state.deploy("a", wanted("1"), null, 1));
      store.append(change, state);
      state = state.with(List.of(change));

      assertThat(StateStoreDisk.hold(directory)).as("held").isNull();
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
          .isEqualTo("rwx------");
      assertThat(
              PosixFilePermissions.toString(
                  Files.getPosixFilePermissions(directory.resolve("state-00000001"))))
          .isEqualTo("rw-------");
    }
    StateStore again =
        new StateStore(
            Objects.requireNonNull(StateStoreDisk.hold(directory)), StateStore.MIN_GROWTH_BYTES);
    again.close();
    assertThat(again.recovered.whole()).isEqualTo(state.whole());
  }

  /** No file system shows it afterwards; the JVM records what it asks the system for. */
  @Test
  void aDiskForcesWhatIsWrittenAndTheNamesOfItsFiles(@TempDir Path folder) throws IOException {
    Path directory = folder.resolve("state");
    Path records = folder.resolve("forced.jfr");
    try (StateStoreDisk disk = Objects.requireNonNull(StateStoreDisk.hold(directory));
        StateStoreFiles.StateFileOutput file = disk.open("state-1");
        Recording recording = new Recording()) {
      recording.enable("jdk.FileForce").withoutThreshold();
      recording.start();
      file.force();
      disk.forceNames();
      recording.stop();
      recording.dump(records);
    }
    assertThat(RecordingFile.readAllEvents(records))
        .extracting(event -> event.getString("path"))
        .filteredOn(path -> path.startsWith(directory.toString()))
        .containsExactly(directory.resolve("state-1").toString(), directory.toString());
  }
}
