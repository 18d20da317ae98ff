package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

class JarRepositoryTest {
  @TempDir Path folder;

  private long nowMs;
  private Set<Jar> needed = Set.of();
  private JarRepository store;

  @BeforeEach
  void open() {
    open(JarRepository.MAX_BYTES);
  }

  private void open(long maxBytes) {
    store = new Owned(maxBytes);
    store.keepIn(folder);
  }

  private class Owned extends JarRepository {
    Owned(long maxBytes) {
      super(() -> Long.MAX_VALUE, () -> nowMs, maxBytes); // all is long settled
    }

    @Override
    protected Set<Jar> needed() {
      return needed;
    }
  }

  private Jar keep(Path jar) throws IOException {
    return store.keep(List.of(jar)).get(0);
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
    List<Jar> first = store.keep(List.of(jar("shop one.jar", "x"), jar("b.jar", "y")));

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

    assertThat(store.find(kept.digest())).isNull();
    assertThat(store.isThere(kept)).isFalse();
    assertThat(store.path(kept).resolveSibling(store.path(kept).getFileName() + ".corrupt-1"))
        .hasContent("cOntent");
    assertThat(keep(source)).isEqualTo(kept);
    assertThat(store.path(kept)).hasContent("content");
  }

  @Test
  void copyThatWasTakenIsReadAgainOnceItIsAnother() throws IOException {
    Path written = store.begin(7);
    Files.writeString(written, "content");
    Jar jar = store.identify(List.of(written)).get(0);
    store.take(written, jar);
    assertThat(store.find(jar.digest())).isEqualTo(store.path(jar));
    Files.writeString(store.path(jar), "cOntent");
    assertThat(store.find(jar.digest())).isNull();
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
    Jar running = keep(jar("a.jar", "a"));
    Jar declared = keep(jar("d.jar", "d"));
    Jar unused = keep(jar("b.jar", "b"));
    Set<Path> inUse = Set.of(store.path(running));
    needed = Set.of(declared);

    store.removeUnused();
    assertThat(store.path(unused)).as("its command is not over").exists();

    store.begin(null);
    store.removeUnused();
    assertThat(store.path(unused)).as("it may be in use").exists();

    store.begin(inUse);
    Files.writeString(folder.resolve("jars/other"), "not a copy");
    store.removeUnused();
    assertThat(store.path(unused)).doesNotExist();
    assertThat(store.path(running)).exists();
    assertThat(store.path(declared)).exists();
    assertThat(folder.resolve("jars/other")).exists();
  }

  @Test
  void copiesTogetherAreBoundedByWhatIsNeeded() throws IOException {
    open(10);
    Jar first = keep(jar("a.jar", "12345678"));

    assertThatThrownBy(() -> keep(jar("b.jar", "123")))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("jars: 11 bytes with ")
        .hasMessageEndingWith("(expected: at most 10)");
    keep(jar("b.jar", "12"));
    assertThat(keep(jar("a.jar", "12345678")))
        .as("it is there, and needs no room")
        .isEqualTo(first);

    store.begin(Set.of());
    List<Jar> both = store.keep(List.of(jar("c.jar", "1234"), jar("d.jar", "56")));
    assertThat(both).allSatisfy(each -> assertThat(store.path(each)).exists());
    assertThat(copies()).as("what nothing needs made room").isEqualTo(2);
  }

  @Test
  void aCopyThatTheDiskRefusesIsTriedAgainWhenThereIsRoom() throws IOException {
    Path inTheWay = Files.createDirectories(folder.resolve("jars/copying.tmp/in the way"));
    assertThatThrownBy(() -> keep(jar("a.jar", "a"))).isInstanceOf(IOException.class);
    store =
        new Owned(JarRepository.MAX_BYTES) {
          @Override
          public boolean makeRoom() {
            try {
              return Files.deleteIfExists(inTheWay);
            } catch (IOException failed) {
              throw new UncheckedIOException(failed);
            }
          }
        };
    store.keepIn(folder);
    Jar kept = keep(jar("a.jar", "a"));

    assertThat(store.path(kept)).hasContent("a");
  }

  @Test
  void copiesOfAnInstanceThatForgetsGoWithIt() throws IOException {
    store = new Owned(JarRepository.MAX_BYTES);
    Path copy = store.path(keep(jar("a.jar", "a")));
    assertThat(copy).hasContent("a");

    store.close();

    assertThat(copy.getParent()).doesNotExist();
  }

  @Test
  void copiesOutlastTheProcessOnceThereIsADirectoryOfTheState() throws IOException {
    store = new Owned(JarRepository.MAX_BYTES);
    Jar jar = keep(jar("a.jar", "a"));
    needed = Set.of(jar);
    Path running = store.path(jar);
    Path written = Files.writeString(store.begin(1), "b");

    store.keepIn(folder);
    store.persist(Set.of(jar));

    assertThat(store.path(jar)).hasParent(folder.resolve("jars")).hasContent("a");
    assertThat(running).as("code may be loaded from it").exists();
    store.take(written, new Jar("b.jar", digest("b")));
    assertThat(store.find(digest("b"))).hasContent("b");
    store.close();
    assertThat(running.getParent()).doesNotExist();
    assertThat(store.path(jar)).exists();
  }

  // --- what comes from elsewhere ---

  private Path received(String content) throws IOException {
    return Files.writeString(store.begin(content.length()), content);
  }

  private static String digest(String content) {
    return HexFormat.of()
        .formatHex(Fingerprint.sha256().digest(content.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void whatWasTakenStaysAnHourAndIsKeptUnderItsOwnName() throws IOException {
    long hour = JarRepository.RETENTION.toMillis();
    store.take(received("x"), new Jar("shop.jar", digest("x")));
    Path there = store.find(digest("x"));
    assertThat(there).hasContent("x").hasParent(folder.resolve("jars"));
    assertThat(store.find(digest("y"))).isNull();
    nowMs = hour - 1;
    store.removeUnused();
    assertThat(keep(there)).isEqualTo(new Jar("shop.jar", digest("x")));
    assertThat(copies()).as("it is its own copy").isEqualTo(1);
    assertThat(store.identify(List.of(there))).containsExactly(new Jar("shop.jar", digest("x")));

    store.begin(Set.of());
    nowMs = hour;
    store.removeUnused();
    assertThat(copies()).isZero();
  }

  @Test
  void whatIsAskedForStaysAWhile() throws IOException {
    Jar jar = keep(jar("a.jar", "x"));
    store.begin(Set.of());
    nowMs = 5;
    assertThat(store.find(jar.digest())).isEqualTo(store.path(jar));
    nowMs = 6;
    store.removeUnused();
    assertThat(copies()).isEqualTo(1);
  }

  @Test
  void whatIsBeingReceivedStaysAndWhatAnEarlierProcessReceivedGoes() throws IOException {
    Path now = received("x");
    Path left = Files.writeString(folder.resolve("jars/received-7.tmp"), "y");
    store.removeUnused();
    assertThat(now).exists();
    assertThat(left).doesNotExist();
  }

  @Test
  void moreThanThereIsRoomForIsNotTaken() throws IOException {
    open(3);
    keep(jar("a.jar", "xx"));
    assertThatThrownBy(() -> store.begin(2))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("4 bytes with one more (expected: at most 3)");
    Path longer = received("");
    Files.writeString(longer, "yy");
    assertThatThrownBy(() -> store.take(longer, new Jar("b.jar", digest("yy"))))
        .isInstanceOf(IOException.class);
  }
}
