package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HttpOptionsTest {

  @TempDir Path folder;

  @BeforeEach
  void writeFiles() throws IOException {
    Files.createFile(folder.resolve("key.pem"));
    Files.createFile(folder.resolve("cert.pem"));
    Files.createDirectory(folder.resolve("ca"));
    Files.createFile(folder.resolve("ca/all.pem"));
  }

  @Test
  void tlsFilesStartFromTheFolderOfTheFile() {
    Settings http =
        read("ssl_keyfile: key.pem", "ssl_certfile: ./cert.pem", "ssl_ca_certs: ca/all.pem");

    assertThat(http.get(HttpOptions.SSL_CERTFILE)).isEqualTo(folder.resolve("cert.pem"));
    assertThat(http.get(HttpOptions.SSL_KEYFILE)).isEqualTo(folder.resolve("key.pem"));
    assertThat(http.get(HttpOptions.SSL_CA_CERTS)).isEqualTo(folder.resolve("ca/all.pem"));
    assertThat(read().find(HttpOptions.SSL_CERTFILE)).isNull();
    assertThat(read("ssl_keyfile: null", "ssl_certfile: null")).isEqualTo(read());
  }

  @Test
  void keyAndCertificateComeTogether() {
    assertThat(problems("ssl_keyfile: key.pem"))
        .containsExactly(
            "berth.yaml:2:15: http_options.ssl_certfile: missing"
                + " (expected: a path, since ssl_keyfile is set)");
    assertThat(problems("ssl_certfile: cert.pem", "ssl_keyfile: null"))
        .containsExactly(
            "berth.yaml:2:53: http_options.ssl_keyfile: missing"
                + " (expected: a path, since ssl_certfile is set)");
  }

  @Test
  void whatBelongsToTlsIsRefusedWithoutIt() {
    assertThat(problems("ssl_ca_certs: ca/all.pem"))
        .containsExactly(
            "berth.yaml:2:30: http_options.ssl_ca_certs: set without TLS"
                + " (expected: ssl_keyfile and ssl_certfile too)");
  }

  @Test
  void aFileMustBeThereAndBeAFile() {
    assertThat(problems("ssl_keyfile: none.pem", "ssl_certfile: ca", "ssl_ca_certs: 5"))
        .containsExactly(
            "berth.yaml:2:29: http_options.ssl_keyfile: \"none.pem\", which does not exist"
                + " (expected: the path of a readable file)",
            "berth.yaml:2:53: http_options.ssl_certfile: \"ca\", a directory"
                + " (expected: the path of a readable file)",
            "berth.yaml:2:71: http_options.ssl_ca_certs: 5, an integer"
                + " (expected: the path of a readable file)");
  }

  @Test
  void passwordOfAKeyIsRefusedAndNotPrinted() {
    onlyProblem(
            problems(
                "ssl_keyfile: key.pem", "ssl_certfile: cert.pem", "ssl_keyfile_password: 4711"))
        .endsWith(
            "http_options.ssl_keyfile_password: not supported by this version: encrypted keys are not supported; openssl pkcs8 -topk8 -nocrypt decrypts one (expected: leave it out)")
        .doesNotContain("4711");
    assertThat(read("ssl_keyfile_password: null")).isEqualTo(read());
  }

  @ParameterizedTest
  @ValueSource(strings = {"''", "/a", "/a/b"})
  void aRootPathIsEmptyOrAPath(String path) {
    assertThat(read("root_path: " + path).get(HttpOptions.ROOT_PATH))
        .isEqualTo(path.replace("'", ""));
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "a", "/a/", "/a?b", "' '", "5", "null"})
  void anythingElseIsNoRootPath(String path) {
    onlyProblem(problems("root_path: " + path))
        .startsWith("berth.yaml:2:27: http_options.root_path: ");
  }

  private Settings read(String... keys) {
    return ConfigReader.read("berth.yaml", folder, text(keys)).settings();
  }

  private List<String> problems(String... keys) {
    return Yaml.problems(() -> read(keys));
  }

  private static String text(String... keys) {
    return Yaml.NO_APPLICATIONS + "http_options: {" + String.join(", ", keys) + "}";
  }
}
