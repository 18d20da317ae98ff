package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarDigestsTest {
  private static final String OF_ONE =
      "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
  private static final String OF_TWO =
      "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3";

  @TempDir Path folder;
  private Path jar;
  private Path kept;
  private long laterMs = 60_000; // than now

  @BeforeEach
  void write() throws IOException {
    jar = Files.writeString(folder.resolve("a b.jar"), "one");
    kept = folder.resolve("digests");
  }

  private JarDigests digests() {
    JarDigests digests =
        new JarDigests(
            () -> {
              try {
                return Files.getLastModifiedTime(jar).toMillis() + laterMs;
              } catch (IOException failed) {
                throw new IllegalStateException(failed);
              }
            });
    digests.keepIn(kept);
    return digests;
  }

  @Test
  void aFileIsReadOnceForAllProcessesThatFindItAsItWas() throws IOException {
    JarDigests first = digests();
    assertThat(first.findCached(jar)).isNull();
    assertThat(first.of(jar)).isEqualTo(OF_ONE);
    assertThat(first.findCached(jar)).isEqualTo(OF_ONE);
    first.save();

    assertThat(digests().findCached(jar)).isEqualTo(OF_ONE);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(kept)))
        .isEqualTo("rw-------");
  }

  @Test
  void aFileOfAnotherSizeTimeOrInodeIsReadAgain() throws IOException {
    JarDigests digests = digests();
    digests.of(jar);
    FileTime written = Files.getLastModifiedTime(jar);

    Files.writeString(jar, "one more");
    Files.setLastModifiedTime(jar, written);
    assertThat(digests.findCached(jar)).as("size").isNull();

    Files.writeString(jar, "one");
    digests.of(jar);
    Files.setLastModifiedTime(jar, FileTime.fromMillis(1));
    assertThat(digests.findCached(jar)).as("time").isNull();

    digests.of(jar);
    Path other = Files.writeString(folder.resolve("other"), "two");
    Files.setLastModifiedTime(other, FileTime.fromMillis(1));
    Files.move(other, jar, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    laterMs = System.currentTimeMillis() + 60_000;
    assertThat(digests.of(jar)).as("inode").isEqualTo(OF_TWO);
  }

  /** As rsync and cp -p do it: the bytes are others, the size and the time of the write are not. */
  @Test
  void aFileThatWasWrittenOverAndSetBackInTimeIsReadAgain() throws IOException {
    FileTime written = FileTime.fromMillis(1);
    Files.setLastModifiedTime(jar, written);
    laterMs = System.currentTimeMillis() + 60_000;
    JarDigests digests = digests();
    assertThat(digests.of(jar)).isEqualTo(OF_ONE);
    assertThat(digests.findCached(jar)).isEqualTo(OF_ONE);

    Files.writeString(jar, "two");
    Files.setLastModifiedTime(jar, written);

    assertThat(digests.of(jar)).isEqualTo(OF_TWO);
  }

  @Test
  void aFileThatWasJustWrittenIsNotRememberedSinceItMayBeWrittenToInTheSameTick()
      throws IOException {
    laterMs = JarDigests.SETTLED_MS - 1_000;
    JarDigests digests = digests();

    assertThat(digests.of(jar)).isEqualTo(OF_ONE);
    assertThat(digests.findCached(jar)).isNull();
  }

  @Test
  void whatIsNoLineOfItIsPassedOver() throws IOException {
    JarDigests first = digests();
    first.of(jar);
    first.save();
    String good = Files.readString(kept);
    Files.writeString(kept, "\0\0\0\n" + OF_TWO + " x\n" + good.substring(0, 70) + "\n" + good);

    assertThat(digests().findCached(jar)).isEqualTo(OF_ONE);

    Files.write(kept, new byte[] {(byte) 0xff, (byte) 0xfe, '\n'});
    assertThat(digests().of(jar)).isEqualTo(OF_ONE);
  }

  @Test
  void filesThatAreRememberedAreBounded() throws IOException {
    JarDigests digests = digests();
    digests.of(jar);
    for (int i = 0; i < JarDigests.MAX_FILES; i++) {
      Path link = folder.resolve("l" + i);
      Files.createSymbolicLink(link, jar);
      digests.of(link);
    }
    digests.save();

    assertThat(Files.readAllLines(kept)).hasSize(JarDigests.MAX_FILES);
    assertThat(digests.findCached(jar)).as("the oldest").isNull();
    assertThat(List.of(folder.resolve("l0"), folder.resolve("l9")))
        .allSatisfy(link -> assertThat(digests.findCached(link)).isEqualTo(OF_ONE));
  }
}
