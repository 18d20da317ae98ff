package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.berth.api.Headers;
import dev.berth.net.tls.SecretFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SecretHeadersTest {
  private static final String SECRET = "geheim";

  @TempDir Path folder;

  private Path file(String name, String text, String mode) throws IOException {
    Path file = folder.resolve("secrets").resolve(name).normalize();
    Files.createDirectories(folder.resolve("secrets"));
    Files.writeString(file, text);
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
  }

  private String refusal(String name) {
    Throwable refused = catchThrowable(() -> SecretHeaders.read(folder.resolve("secrets"), name));
    assertThat(refused).isInstanceOf(IllegalArgumentException.class).hasNoCause();
    return refused.getMessage();
  }

  @Test
  void linesAreHeadersWhoseTextShowsNoValue() throws IOException {
    String text =
        "# of models\r\nAuthorization: Bearer geheim\r\n\nx-api-key:\tx-geheim\nx-geheim: 1 \n";
    file("key", text, "rw-r-----");

    Headers headers = SecretHeaders.read(folder.resolve("secrets"), "key");

    assertThat(headers.size()).isEqualTo(3);
    assertThat(headers.get("authorization")).isEqualTo("Bearer geheim");
    assertThat(headers.get("x-api-key")).isEqualTo("x-geheim");
    assertThat(headers.toString()).doesNotContain("Bearer");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "geheim | line 1",
        "a: b\\nAuthorization geheim | line 2",
        "auth orization: geheim | line 1",
        "authorization: | line 1",
        "authorization: geheim\\001x | line 1",
        "authorization: geh\\344im | line 1",
        "content-length: 1 | line 1",
        "A: geheim\\na: geheim | line 2",
        "# only | no line"
      })
  void invalidLineIsRefusedByItsNumber(String text, String problem) throws IOException {
    file("key", text.translateEscapes(), "rw-------");
    assertThat(refusal("key")).startsWith("key: " + problem + " (").doesNotContain(SECRET);
  }

  @ParameterizedTest
  @ValueSource(strings = {"rw----r--", "rw-----w-", "rw--w----"})
  void fileThatOthersCanAccessIsRefused(String mode) throws IOException {
    file("key", "a: geheim", mode);
    assertThat(refusal("key")).contains("mode 0600 or 0640").doesNotContain(SECRET);
  }

  @Test
  void fileOutsideTheDirectoryIsRefused() throws IOException {
    file("../outside", "a: geheim", "rw-------");
    Path inside = file("inside", "a: b", "rw-------");
    Files.createSymbolicLink(folder.resolve("secrets/out"), folder.resolve("outside"));
    Files.createSymbolicLink(folder.resolve("secrets/in"), inside);

    for (String name : new String[] {"out", "../outside", folder + "/outside", "."}) {
      assertThat(refusal(name)).contains("a file below berth.secrets_dir");
    }
    assertThat(SecretFiles.below(folder.resolve("secrets"), "in")).isEqualTo(inside.toRealPath());
    assertThat(refusal("none")).startsWith("none: NoSuchFileException");
    assertThat(catchThrowable(() -> SecretHeaders.read(null, "key")))
        .hasMessage("key: berth.secrets_dir is not set (expected: its directory)");
  }

  @Test
  void largeFileIsRefused() throws IOException {
    file("key", "a: " + "x".repeat(SecretHeaders.MAX_BYTES), "rw-------");
    assertThat(refusal("key")).isEqualTo("key: longer (expected: at most 65536 bytes)");
  }
}
