package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.Fingerprint;
import dev.berth.code.Jar;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarStoreTest {

  private static final JarStore.Spare NO_ROOM = () -> false;

  @TempDir Path folder;

  private final JarDigests digests = new JarDigests(() -> Long.MAX_VALUE); // all is long settled

  private JarStore store;

  @BeforeEach
  void open() {
    store = JarStore.in(folder, digests, JarStore.MOST_BYTES);
  }

  private Jar keep(Path jar) throws IOException {
    return store.keep(List.of(jar), NO_ROOM).get(0);
  }

  private Path jar(String name, String content) throws IOException {
    return Files.writeString(folder.resolve(name), content);
  }

  private long copies() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("jars"))) {
      return files.filter(file -> file.toString().endsWith(".jar")).count();
    }
  }

  @Test
  void aCopyIsNamedByItsContentAndMadeOnce() throws IOException {
    List<Jar> first = store.keep(List.of(jar("shop one.jar", "x"), jar("b.jar", "y")), NO_ROOM);

    assertThat(keep(jar("shop one.jar", "x"))).isEqualTo(first.get(0));
    assertThat(store.path(first.get(0))).hasContent("x");
    assertThat(store.path(first.get(0)).getFileName().toString())
        .isEqualTo("shop_one-2d711642b726b04401627ca9fbac32f5.jar");
    assertThat(copies()).isEqualTo(2);
    assertThat(store.identify(List.of(folder.resolve("b.jar")))).containsExactly(first.get(1));
  }

  @Test
  void damagedCopyIsPutAsideAndCopiedAgain() throws IOException {
    Path source = jar("a.jar", "content");
    Jar kept = keep(source);
    assertThat(store.isThere(kept)).isTrue();
    Files.writeString(store.path(kept), "cOntent");

    assertThat(store.find(kept.digest(), 0)).isNull();
    assertThat(store.isThere(kept)).isFalse();
    assertThat(store.path(kept).resolveSibling(store.path(kept).getFileName() + ".corrupt-1"))
        .hasContent("cOntent");
    assertThat(keep(source)).isEqualTo(kept);
    assertThat(store.path(kept)).hasContent("content");
  }

  @Test
  void copyThatWasTakenIsReadAgainOnceItIsAnother() throws IOException {
    Path written = store.begin(7, NO_ROOM);
    Files.writeString(written, "content");
    Jar jar = new Jar("a.jar", digests.of(written));
    store.take(written, jar, NO_ROOM, 0);
    assertThat(store.find(jar.digest(), 0)).isEqualTo(store.path(jar));
    Files.writeString(store.path(jar), "cOntent");
    assertThat(store.find(jar.digest(), 0)).isNull();
  }

  @Test
  void aJarIsToldByTheSha256OfItsBytes() throws IOException {
    Path jar = zip("a.jar", "one", 1);
    Jar first = keep(jar);

    assertThat(first.digest())
        .isEqualTo(HexFormat.of().formatHex(Fingerprint.sha256().digest(Files.readAllBytes(jar))));
    assertThat(store.identify(List.of(store.path(first))).get(0).digest())
        .isEqualTo(first.digest());
    assertThat(store.identify(List.of(zip("a.jar", "one", 2))))
        .as("made at another time, other bytes")
        .doesNotContain(first);
  }

  /** Two entries of one name, size and CRC are easily made. */
  @Test
  void aJarWhoseChecksumsWereForgedIsAnotherOne() throws IOException {
    Path good = zip("a.jar", "plumless", 1);
    long checksum = checksum(good);
    Jar kept = keep(good);

    Path forged = zip("a.jar", "buckeroo", 1);

    assertThat(checksum(forged)).isEqualTo(checksum);
    assertThat(keep(forged)).isNotEqualTo(kept);
  }

  private static long checksum(Path jar) throws IOException {
    try (ZipFile zip = new ZipFile(jar.toFile())) {
      return zip.getEntry("content").getCrc();
    }
  }

  private Path zip(String name, String content, int day) throws IOException {
    Path file = folder.resolve(name);
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
      ZipEntry entry = new ZipEntry("content");
      entry.setTimeLocal(LocalDateTime.of(2026, 1, day, 0, 0));
      zip.putNextEntry(entry);
      zip.write(content.getBytes(StandardCharsets.UTF_8));
    }
    return file;
  }

  @Test
  void aCopyThatNothingNeedsGoesButForThoseOfTheCommandUnderWay() throws IOException {
    Jar needed = keep(jar("a.jar", "a"));
    Jar unused = keep(jar("b.jar", "b"));

    store.removeUnused(Set.of(store.path(needed)), 0);
    assertThat(store.path(unused)).as("its command is not over").exists();

    store.begin();
    Files.writeString(folder.resolve("jars/other"), "not a copy");
    store.removeUnused(Set.of(store.path(needed)), 0);
    assertThat(store.path(unused)).doesNotExist();
    assertThat(store.path(needed)).exists();
    assertThat(folder.resolve("jars/other")).exists();
  }

  @Test
  void copiesTogetherAreBoundedByWhatIsNeeded() throws IOException {
    store = JarStore.in(folder, digests, 10);
    Jar first = keep(jar("a.jar", "12345678"));

    assertThatThrownBy(() -> keep(jar("b.jar", "123")))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("jars: 11 bytes with ")
        .hasMessageEndingWith("(expected: at most 10)");
    keep(jar("b.jar", "12"));
    assertThat(keep(jar("a.jar", "12345678")))
        .as("it is there, and needs no room")
        .isEqualTo(first);

    store.begin();
    List<Jar> both =
        store.keep(
            List.of(jar("c.jar", "1234"), jar("d.jar", "56")),
            () -> {
              store.removeUnused(Set.of(), 0);
              return true;
            });
    assertThat(both).allSatisfy(each -> assertThat(store.path(each)).exists());
    assertThat(copies()).as("what nothing needs made room").isEqualTo(2);
  }

  @Test
  void aCopyThatTheDiskRefusesIsTriedAgainWhenThereIsRoom() throws IOException {
    Path inTheWay = Files.createDirectories(folder.resolve("jars/copying.tmp/in the way"));
    JarStore.Spare makeRoom =
        () -> {
          try {
            return Files.deleteIfExists(inTheWay);
          } catch (IOException failed) {
            throw new UncheckedIOException(failed);
          }
        };

    assertThatThrownBy(() -> keep(jar("a.jar", "a"))).isInstanceOf(IOException.class);
    Jar kept = store.keep(List.of(jar("a.jar", "a")), makeRoom).get(0);

    assertThat(store.path(kept)).hasContent("a");
  }

  @Test
  void copiesOfAnInstanceThatForgetsGoWithIt() throws IOException {
    store = JarStore.temporary(digests);
    Path copy = store.path(keep(jar("a.jar", "a")));
    assertThat(copy).hasContent("a");

    store.close();

    assertThat(copy.getParent()).doesNotExist();
  }

  // --- what comes from elsewhere ---

  private Path received(String content) throws IOException {
    return Files.writeString(store.begin(content.length(), NO_ROOM), content);
  }

  private static String digest(String content) {
    return HexFormat.of()
        .formatHex(Fingerprint.sha256().digest(content.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void whatWasTakenStaysAnHourAndIsKeptUnderItsOwnName() throws IOException {
    long hour = JarStore.TAKEN_FOR.toMillis();
    store.take(received("x"), new Jar("shop.jar", digest("x")), NO_ROOM, 0);
    Path there = store.find(digest("x"), 0);
    assertThat(there).hasContent("x").hasParent(folder.resolve("jars"));
    assertThat(store.find(digest("y"), 0)).isNull();
    store.removeUnused(Set.of(), hour - 1);
    assertThat(keep(there)).isEqualTo(new Jar("shop.jar", digest("x")));
    assertThat(copies()).as("it is its own copy").isEqualTo(1);
    assertThat(store.identify(List.of(there))).containsExactly(new Jar("shop.jar", digest("x")));

    store.begin();
    store.removeUnused(Set.of(), hour);
    assertThat(copies()).isZero();
  }

  @Test
  void whatIsAskedForStaysAWhile() throws IOException {
    Jar jar = keep(jar("a.jar", "x"));
    store.begin();
    assertThat(store.find(jar.digest(), 5)).isEqualTo(store.path(jar));
    store.removeUnused(Set.of(), 6);
    assertThat(copies()).isEqualTo(1);
  }

  @Test
  void whatIsBeingReceivedStaysAndWhatAnEarlierProcessReceivedGoes() throws IOException {
    Path now = received("x");
    Path left = Files.writeString(folder.resolve("jars/received-7.tmp"), "y");
    store.removeUnused(Set.of(), 0);
    assertThat(now).exists();
    assertThat(left).doesNotExist();
  }

  @Test
  void moreThanThereIsRoomForIsNotTaken() throws IOException {
    store = JarStore.in(folder, digests, 3);
    keep(jar("a.jar", "xx"));
    assertThatThrownBy(() -> store.begin(2, NO_ROOM))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("4 bytes with one more (expected: at most 3)");
    Path longer = received("");
    Files.writeString(longer, "yy");
    assertThatThrownBy(() -> store.take(longer, new Jar("b.jar", digest("yy")), NO_ROOM, 0))
        .isInstanceOf(IOException.class);
  }
}
