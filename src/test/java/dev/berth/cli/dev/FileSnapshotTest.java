package dev.berth.cli.dev;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileSnapshotTest {
  private @TempDir Path folder;

  private FileSnapshot snapshot() {
    return FileSnapshot.of(List.of(folder.resolve("src"), folder.resolve("file.yaml")));
  }

  private Path write(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  @Test
  void writesCreationsAndRemovalsAreChanges() throws IOException {
    Path written = write("src/a/One.java", "1");
    Path removed = write("src/a/Two.java", "1");
    write("src/a/Same.java", "1");
    FileSnapshot before = snapshot();
    assertThat(snapshot().changedSince(before)).isEmpty();

    write("src/a/One.java", "12");
    Files.delete(removed);
    Path created = write("src/b/Three.java", "1");
    Path named = write("file.yaml", "{}");

    assertThat(snapshot().changedSince(before))
        .containsExactlyInAnyOrder(written, removed, created, named);
  }

  @Test
  void writeOfEqualLengthIsFoundByItsTime() throws IOException {
    Path file = write("src/One.java", "1");
    FileSnapshot before = snapshot();
    Files.writeString(file, "2");
    Files.setLastModifiedTime(file, FileTime.fromMillis(1_000));
    assertThat(snapshot().changedSince(before)).containsExactly(file);
  }

  @Test
  void replacementOfEqualTimeIsFoundByItsIdentity() throws IOException {
    Path file = write("src/One.java", "1");
    FileTime time = Files.getLastModifiedTime(file);
    FileSnapshot before = snapshot();
    Path other = write("src/.One.java.new", "2");
    Files.setLastModifiedTime(other, time);
    Files.move(other, file, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    assertThat(snapshot().changedSince(before)).containsExactly(file);
  }

  @Test
  void filesOfEditorsAreOmitted() throws IOException {
    FileSnapshot before = snapshot();
    for (String name : List.of(".One.java.swp", "One.java~", "#One.java#", "One.java.tmp")) {
      write("src/" + name, "1");
    }
    assertThat(snapshot().changedSince(before)).isEmpty();
  }
}
