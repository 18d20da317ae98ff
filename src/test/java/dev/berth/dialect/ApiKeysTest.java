package dev.berth.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.berth.config.Yaml;
import dev.berth.dialect.ApiKeys.ApiKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ApiKeysTest {
  private static final String HASH = "a".repeat(64);

  @TempDir Path folder;

  private void write(String text, String mode) throws IOException {
    Path file = Files.writeString(folder.resolve("keys"), text);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
  }

  private String refusal() {
    Throwable refused = catchThrowable(() -> ApiKeys.read(folder, "keys"));
    assertThat(refused).isInstanceOf(IllegalArgumentException.class).hasNoCause();
    return refused.getMessage();
  }

  private static @Nullable ApiKeys of(String instance) {
    return ApiKeys.of(Yaml.read("{applications: [], " + instance + "}").settings());
  }

  @Test
  void presentedKeyIsFoundByItsDigest() throws IOException {
    write(
        "# clients\n\n"
            + ApiKeys.line("alice", "sk-1", List.of("*"))
            + "\r\n  "
            + ApiKeys.line("bob", "sk-2", List.of("smol", "big/one")).replace(" ", "  ")
            + "  \n",
        "rw-r-----");
    ApiKeys keys = ApiKeys.read(folder, "keys");
    assertThat(keys.lookup("sk-1")).isEqualTo(new ApiKey("alice", Set.of("*")));
    assertThat(keys.lookup("sk-2")).isEqualTo(new ApiKey("bob", Set.of("smol", "big/one")));
    for (String unknown : new String[] {"", "sk-", "sk-1 ", "SK-1", "sk-12"}) {
      assertThat(keys.lookup(unknown)).as(unknown).isNull();
    }
    assertThat(Files.readString(folder.resolve("keys"))).doesNotContain("sk-1");
  }

  @Test
  void keyPermitsItsModelsByNameOrAlias() {
    ModelTarget byAlias = new ModelTarget(0, "gpt-4o", "smol", "");
    assertThat(new ApiKey("k", Set.of("*")).permits(byAlias)).isTrue();
    assertThat(new ApiKey("k", Set.of("smol")).permits(byAlias)).isTrue();
    assertThat(new ApiKey("k", Set.of("gpt-4o")).permits(byAlias)).isTrue();
    assertThat(new ApiKey("k", Set.of("gpt-4o")).permits(new ModelTarget(0, "smol", "smol", "")))
        .isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "id HASH | line 1",
        "id HASH x,, | line 1",
        "id HASH *,x | line 1",
        "id HASH a;b | line 1",
        "i/d HASH * | line 1",
        "id aHASH * | line 1",
        "id HASH * more | line 1",
        "id sk-berth-secret * | line 1",
        "a HASH *\\nb HASH * | line 2",
        "a HASH *\\na OTHER * | line 2",
        "# only | 0 keys"
      })
  void invalidLineIsRefusedByItsNumber(String text, String problem) throws IOException {
    String other = "c" + HASH.substring(1);
    write(text.translateEscapes().replace("HASH", HASH).replace("OTHER", other), "rw-------");
    assertThat(refusal())
        .startsWith("keys: " + problem + " (expected: ")
        .doesNotContain("secret", HASH);
  }

  @Test
  void numberOfKeysIsLimited() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i <= ApiKeys.MAX_KEYS; i++) {
      lines.append("id%d %064x *\n".formatted(i, i));
    }
    write(lines.toString(), "rw-------");
    assertThat(refusal()).startsWith("keys: 1001 keys (expected: 1 to 1000)");
  }

  @Test
  void fileThatOthersCanReadIsRefused() throws IOException {
    write("id " + HASH + " *", "rw-r--r--");
    assertThat(refusal()).contains("mode 0600 or 0640");
  }

  @ParameterizedTest
  @CsvSource(
      nullValues = "-",
      value = {
        "Bearer sk-1, -, sk-1",
        "'bearer   sk-1 ', -, sk-1",
        "-, sk-2, sk-2",
        "Basic eDp5, sk-2, sk-2",
        "Bearer sk-1, sk-2, sk-1",
        "Bearer, -, -",
        "-, -, -"
      })
  void keyComesFromEitherHeader(
      @Nullable String authorization, @Nullable String apiKey, @Nullable String key) {
    assertThat(ApiKeys.presented(authorization, apiKey)).isEqualTo(key);
  }

  @Test
  void instanceServesWithoutKeysOnlyOnLoopbackOrIfAllowed() throws IOException {
    assertThat(of("http_options: {host: 127.0.0.1}")).isNull();
    assertThat(of("berth: {openai: {allow_unauthenticated: true}}")).isNull();
    ApiKeys none = Objects.requireNonNull(of("berth: {}"));
    assertThat(none.lookup("")).isNull();

    write(ApiKeys.line("alice", "sk-1", List.of("*")), "rw-------");
    String file = "berth: {secrets_dir: " + folder + ", openai: {api_keys_file: keys}}";
    ApiKeys keys = Objects.requireNonNull(of("http_options: {host: 127.0.0.1}, " + file));
    assertThat(keys.lookup("sk-1")).isNotNull();
  }
}
