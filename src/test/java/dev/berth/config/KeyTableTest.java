package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.berth.config.keys.ConfigKey;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Goes over every key there is. */
class KeyTableTest {

  private static final Path REFERENCE = Path.of("docs/configuration.md");
  private static final Path SCHEMA = Path.of("docs/berth.schema.json");

  @Test
  void everyKeyHasANameAMeaningAndWhatItExpects() {
    assertThat(rows())
        .isNotEmpty()
        .allSatisfy(
            row -> {
              assertThat(row.key().name()).matches("[a-z][a-z0-9_]*");
              assertThat(row.key().meaning()).endsWith(".");
              assertThat(row.key().type().expected()).isNotBlank();
            });
  }

  @Test
  void aTimeOrASizeHasItsUnitInItsName() {
    assertThat(rows())
        .allSatisfy(
            row -> {
              String name = row.key().name();
              switch (row.key().type().unit()) {
                case "s" -> assertThat(name).endsWith("_s");
                case "ms" -> assertThat(name).endsWith("_ms");
                case "bytes" -> assertThat(name).contains("bytes");
                default -> assertThat(name).doesNotMatch(".*_(s|ms)");
              }
            });
  }

  @Test
  void everyDefaultIsAllowed() {
    assertThat(rows()).allSatisfy(row -> requireFallback(row.key()));
  }

  /** Run with {@code -Dberth.docs.write=true} to write the file anew. */
  @Test
  void theReferenceSaysWhatTheKeysSay() throws IOException {
    String reference = Reference.render();
    if (Boolean.getBoolean("berth.docs.write")) {
      Files.createDirectories(REFERENCE.getParent());
      Files.writeString(REFERENCE, reference);
    } else if (!Files.readString(REFERENCE).equals(reference)) {
      fail(
          REFERENCE
              + " is not what the keys say; write it anew with:"
              + " mvn test -Dtest=KeyTableTest -Dberth.docs.write=true");
    }
  }

  /** Written anew together with the reference. */
  @Test
  void theSchemaInTheDocsSaysWhatTheKeysSay() throws IOException {
    String schema = new JsonObject(ServeConfig.schema()).encodePrettily() + "\n";
    if (Boolean.getBoolean("berth.docs.write")) {
      Files.writeString(SCHEMA, schema);
    } else if (!Files.readString(SCHEMA).equals(schema)) {
      fail(
          SCHEMA
              + " is not what the keys say; write it anew with:"
              + " mvn test -Dtest=KeyTableTest -Dberth.docs.write=true");
    }
  }

  private static <T> void requireFallback(ConfigKey<T> key) {
    T fallback = key.fallback(DeploymentConfig.of("any").within(ServeConfig.DEFAULTS));
    if (fallback != null) {
      key.require(fallback);
    }
  }

  private static List<Reference.Row> rows() {
    List<Reference.Row> rows = new ArrayList<>();
    Reference.collect(ServeConfig.SECTION, "", rows);
    return rows;
  }
}
