package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.controller.DesiredApplication.Jar;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JarStoreTest {

  @TempDir Path folder;

  private Path jar(String name, String content) throws IOException {
    return Files.writeString(folder.resolve(name), content);
  }

  private long copies() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("jars"))) {
      return files.count();
    }
  }

  @Test
  void aCopyIsNamedByItsContentAndMadeOnce() throws IOException {
    JarStore store = JarStore.in(folder);

    List<Jar> first = store.keep(List.of(jar("shop one.jar", "x"), jar("b.jar", "y")));
    List<Jar> second = store.keep(List.of(jar("shop one.jar", "x")));

    assertThat(first.get(0)).isEqualTo(second.get(0));
    assertThat(store.path(first.get(0))).hasContent("x");
    assertThat(store.path(first.get(0)).getFileName().toString())
        .isEqualTo("shop_one-2d711642b726b04401627ca9fbac32f5.jar");
    assertThat(copies()).isEqualTo(2);
    assertThat(JarStore.identify(folder.resolve("b.jar"))).isEqualTo(first.get(1));
  }

  @Test
  void aJarIsToldByWhatItHoldsAndNotByWhenItWasMade() throws IOException {
    JarStore store = JarStore.in(folder);
    Jar first = store.keep(List.of(zip("a.jar", "one", 1))).get(0);

    assertThat(JarStore.identify(zip("a.jar", "one", 2))).isEqualTo(first);
    assertThat(JarStore.identify(zip("a.jar", "two", 1))).isNotEqualTo(first);
    assertThat(JarStore.identify(store.path(first)).digest()).isEqualTo(first.digest());
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
  void nothingIsMadeForAnApplicationWithoutJars() throws IOException {
    assertThat(JarStore.in(folder).keep(List.of())).isEmpty();
    assertThat(folder.resolve("jars")).doesNotExist();
  }

  @Test
  void aCopyThatNothingNeedsGoesWhenItIsNotNeededASecondTime() throws IOException {
    JarStore store = JarStore.in(folder);
    Jar kept = store.keep(List.of(jar("a.jar", "a"))).get(0);
    Jar unused = store.keep(List.of(jar("b.jar", "b"))).get(0);

    store.removeUnused(Set.of(kept), false);
    assertThat(store.path(unused)).as("something may still run from it").exists();
    store.removeUnused(Set.of(kept, unused), false);
    store.removeUnused(Set.of(kept), false);
    assertThat(store.path(unused)).as("it was needed in between").exists();
    store.removeUnused(Set.of(kept), false);
    assertThat(store.path(unused)).doesNotExist();

    store.keep(List.of(jar("b.jar", "b")));
    store.removeUnused(Set.of(kept), true);
    assertThat(store.path(unused)).as("at a start nothing runs").doesNotExist();
    assertThat(store.path(kept)).exists();
  }

  @Test
  void copiesTogetherAreBounded() throws IOException {
    JarStore store = JarStore.in(folder, 10);
    store.keep(List.of(jar("a.jar", "12345678")));

    assertThatThrownBy(() -> store.keep(List.of(jar("b.jar", "123"))))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("jars: 11 bytes with ")
        .hasMessageEndingWith("(expected: at most 10)");
    store.keep(List.of(jar("b.jar", "12")));
  }

  @Test
  void copiesOfAnInstanceThatForgetsGoWithIt() throws IOException {
    JarStore store = JarStore.temporary();
    Path copy = store.path(store.keep(List.of(jar("a.jar", "a"))).get(0));
    assertThat(copy).hasContent("a");

    store.close();

    assertThat(copy.getParent()).doesNotExist();
  }
}
