package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.config.keys.ConfigProblem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigReaderTest {

  @TempDir Path folder;

  @Test
  void aFileThatSaysLittleGetsEveryDefault() {
    ServeConfig config = Yaml.read("applications: [{import_path: com.acme.Shop}]");

    assertThat(config.settings()).isEqualTo(ServeConfig.DEFAULTS);
    assertThat(config.get(ServeConfig.HTTP_OPTIONS))
        .hasToString("{host=0.0.0.0, port=8000, root_path=, keep_alive_timeout_s=90}");
    assertThat(config.get(ServeConfig.LOGGING_CONFIG))
        .hasToString("{encoding=TEXT, log_level=INFO, enable_access_log=false}");
    assertThat(config.warnings()).isEmpty();
    assertThat(config.get(InstanceOptions.ADMIN).toString())
        .startsWith("{host=127.0.0.1, port=8265");
    ApplicationConfig application = config.applications().get(0);
    assertThat(application.get(ApplicationConfig.IMPORT_PATH))
        .isEqualTo(new ImportPath("com.acme.Shop", "build"));
    assertThat(application.jars()).isEmpty();
    assertThat(application.get(ApplicationConfig.ARGS)).isEmpty();
    assertThat(application.deployments()).isEmpty();
  }

  @Test
  void whatTheFileSaysArrivesInTheRecords() {
    String said =
        """
        http_options:
          {host: 127.0.0.1, port: 0, root_path: /x, request_timeout_s: 1.5, keep_alive_timeout_s: 5}
        logging_config: {encoding: JSON, log_level: DEBUG, enable_access_log: true}
        applications: []
        berth:
          admin:
            {host: localhost, port: 1, bearer_tokens: [], allow_unauthenticated: true, http2: true,
            dashboard: false, play: {max_concurrent: 9, max_response_bytes: 4096, timeout_s: 5},
            max_viewers: 7}
          event_loops: 3
          limits:
            max_queued_total: 1
            max_queued_bytes: 2
            max_body_bytes: 3
            buffered_body_bytes_total: 4
            max_header_bytes: 1024
            max_uri_bytes: 512
            max_route_templates: 13
            idle_timeout_s: 4
            min_body_bytes_per_s: 14
            body_rate_grace_s: 15
            header_read_timeout_s: 5
            max_connections: 6
            address_connection_rate: 15
            trusted_proxies: [10.0.0.0/8]
            request_bytes_total: 70000
            pending_requests_per_loop: 7
            max_handler_threads: 17
            max_reservation_ttl_s: 8
            max_reservation_legs: 13
            stream_window_bytes: 65536
            stream_bytes_total: 5000000000
            stream_idle_timeout_s: 9
            compressed_streams: 18
            http2_max_streams: 10
            http2_max_resets: 11
            http2_reset_window_s: 12
            http2_max_control_frames: 16
            http2_connection_window_bytes: 65537
          metrics: {record_interval_ms: 100, push_interval_ms: 500, replica_record_interval_ms: 300,
            replica_push_interval_ms: 700, record_autoscaling_stats_timeout_ms: 900, prefix: ray_,
            vertx: [net, pools]}
          autoscaling: {record: /var/scaling.jsonl, record_bytes: 16777216}
          endpoints: []
          explain: {sample_rate: 0.25, ring_size: 0, header: false}
          log_ring: {lines: 14, bytes: 65538}
          health: {blocked_loop_unready_s: 18, startup_s: 30}
          reservations:
            max_held_total: 1
            max_held_per_caller: 2
            max_wait_s: 3
            max_ended: 4
            max_idempotency_keys: 5
            max_idempotency_keys_per_caller: 6
            idempotency_key_ttl_s: 7
            data_port: true
            bearer_tokens: [{name: ci, token: 0123456789abcdef}]
          h2c_upgrade: true
          proxy_protocol: true
          response_headers: {x-frame-options: DENY}
          blocked_loop_after_ms: 20
          application_worker_threads: 19
          shutdown_timeout_s: 7
          messages: event_bus
          halt_on_full_heap: false
          openai: {allow_unauthenticated: true}
          state_dir: /var/berth
          ephemeral: true
          declare: all
          revision_history_limit: 12
        proxy_location: HeadOnly
        """;

    assertThat(Yaml.read(said).settings())
        .hasToString(Yaml.plain(said).toString().replace("0123456789abcdef", "(not shown)"));
  }

  @Test
  void jsonIsReadAsTheYamlItIs() {
    ServeConfig config =
        Yaml.read("{\n\t\"applications\": [],\n\t\"http_options\": {\"port\": 9000}\n}");

    assertThat(config.get(HttpOptions.PORT)).isEqualTo(9000);
  }

  @Test
  void everyProblemOfAFileIsReportedInItsOrder() {
    assertThat(
            Yaml.problems(
                """
                http_options:
                  port: "8000"
                  prot: 8000
                applications:
                  - name: ""
                    import_path: 5
                    deployments:
                      - num_replicas: 0
                berth: {event_loops: none}
                """))
        .containsExactly(
            "berth.yaml:2:9: http_options.port: \"8000\", a string"
                + " (expected: an integer from 0 to 65535)",
            "berth.yaml:3:3: http_options.prot: unknown key, did you mean port?"
                + " (expected: one of host, port, root_path, request_timeout_s,"
                + " keep_alive_timeout_s, ssl_keyfile, ssl_certfile, ssl_ca_certs)",
            "berth.yaml:5:11: applications[0].name: \"\""
                + " (expected: a non-empty string on one line, without #)",
            "berth.yaml:6:18: applications[0].import_path: 5, an integer (expected: a Java builder method, such as com.acme.Shop:build, or com.acme.Shop for its method build)",
            "berth.yaml:8:9: applications[0].deployments[0].name: missing"
                + " (expected: a non-empty string on one line, without #)",
            "berth.yaml:8:23: applications[0].deployments[0].num_replicas: 0"
                + " (expected: auto, or an integer from 1 to 10000)",
            "berth.yaml:9:22: berth.event_loops: \"none\", a string"
                + " (expected: an integer from 1 to 1024)");
  }

  @Test
  void aProblemCarriesItsPartsForMachines() {
    ConfigException refused =
        catchThrowableOfType(
            ConfigException.class,
            () -> Yaml.read("applications: []\nhttp_options: {port: 70000}"));

    assertThat(refused.problems())
        .containsExactly(
            new ConfigProblem(
                "berth.yaml", 2, 22, "http_options.port", "70000", "an integer from 0 to 65535"));
    assertThat(refused.getStackTrace()).isEmpty();
  }

  @Test
  void aFileMayNameNoApplicationsOrSayNothingOfThem() {
    assertThat(Yaml.read("applications: []").origin().namesApplications()).isTrue();
    assertThat(Yaml.read("http_options: {}").origin().namesApplications()).isFalse();
    assertThat(Yaml.problems("applications:"))
        .containsExactly("berth.yaml:1:14: applications: null (expected: a list of mappings)");
  }

  @Test
  void whatIsDeployedNamesItsApplications(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("a.yaml"), "http_options: {}");

    onlyProblem(Yaml.problems(() -> ConfigReader.submission(file, List.of())))
        .endsWith("a.yaml:1:1: applications: missing (expected: a list of mappings)");
    assertThat(
            Yaml.problems(
                () ->
                    SubmittedConfig.read(
                        "config", folder, "{}", null, Yaml.read("{}"), jar -> null)))
        .containsExactly("config:1:1: applications: missing (expected: a list of mappings)");
  }

  @Test
  void aStartLeavesOutEntriesThatCannotBeUsed(@TempDir Path folder) throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("a.yaml"),
            """
            applications:
            - {name: a, route_prefix: /a, import_path: 'x.A:build', colour: red}
            - {name: b, route_prefix: /b, import_path: 'x.B:build'}
            - {name: c, route_prefix: /b, import_path: 'x.B:build'}
            - {name: [], import_path: 'x.B:build', runtime_env: {jars: [gone.jar]}}
            logging_config: {logs_dir: l}
            """);

    ServeConfig config = ConfigReader.readToStart(file, List.of());

    assertThat(config.applications()).extracting(ApplicationConfig::name).containsExactly("b");
    assertThat(config.origin().refused())
        .extracting(ConfigOrigin.RefusedEntry::name)
        .containsExactly("a", "c", null);
    assertThat(config.origin().refused().get(2).problems()).hasSize(2);
    assertThat(config.warnings()).singleElement().matches(ConfigProblem::isWarning);
    assertThat(config.applications().get(0).source().problem("import_path", "v", "e").path())
        .isEqualTo("applications[1].import_path");
    assertThat(Yaml.problems(() -> ConfigReader.read(file, List.of()))).hasSize(5);
    Files.writeString(file, "applications: [{name: a, x: y}]\nhttp_options: {port: x}");
    assertThat(
            catchThrowableOfType(
                ConfigException.class, () -> ConfigReader.readToStart(file, List.of())))
        .as("the instance's own part")
        .isNotNull();
  }

  @Test
  void aFileIsKnownByItsHostAndRealPathUnlessSettingsChangeItsApplications(@TempDir Path folder)
      throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("ä b.yaml"), "applications: [{name: a, import_path: 'x.A:build'}]");
    Path link = Files.createSymbolicLink(folder.resolve("link.yaml"), file);

    String uri = ConfigReader.read(file, List.of()).origin().uri();

    assertThat(uri).matches("file://[^/]+/.*/%C3%A4%20b\\.yaml");
    assertThat(ConfigReader.read(link, List.of()).origin().uri()).isEqualTo(uri);
    assertThat(ConfigReader.submission(link, List.of()).config().origin().uri()).isEqualTo(uri);
    for (String setting : List.of("target_capacity=5", "applications.a.import_path=x.B:b")) {
      List<Setting> settings = List.of(Setting.parse("--set", setting));
      assertThat(ConfigReader.read(file, settings).origin().uri()).isNull();
    }
    List<Setting> port = List.of(Setting.parse("--set", "http_options.port=5"));
    assertThat(ConfigReader.read(file, port).origin().uri()).isEqualTo(uri);
  }

  @Test
  void anEmptyFileIsRefused() {
    assertThat(Yaml.problems("# nothing yet\n"))
        .containsExactly("berth.yaml: empty (expected: a mapping with the key applications)");
  }

  @Test
  void aFileThatIsNoMappingIsRefused() {
    assertThat(Yaml.problems("- applications"))
        .containsExactly("berth.yaml:1:1: a list (expected: a mapping)");
  }

  @Test
  void malformedYamlNamesItsPlace() {
    onlyProblem(Yaml.problems("applications: []\n\tberth: {}"))
        .startsWith("berth.yaml:2:1: found character '\\t(TAB)'")
        .endsWith("(expected: one well-formed YAML or JSON document)");
  }

  @Test
  void aSecondDocumentIsRefused() {
    onlyProblem(Yaml.problems("applications: []\n---\napplications: []"))
        .startsWith("berth.yaml:2:1: ");
  }

  @Test
  void deepNestingIsRefusedBeforeTheStackEnds() {
    assertThat(Yaml.problems("[".repeat(100_000)))
        .containsExactly(
            "berth.yaml:1:101: more levels than allowed (expected: at most 100 levels)");
    assertThat(Yaml.problems("{a: ".repeat(100_000))).hasSize(1);
  }

  @Test
  void anAliasMayRepeatAMappingButNotWithoutEnd() {
    assertThat(
            Yaml.read(
                    """
                    applications:
                      - {name: a, route_prefix: /a, import_path: a.B, args: &shared {x: 1}}
                      - {name: b, route_prefix: /b, import_path: a.B, args: *shared}
                    """)
                .applications()
                .get(1)
                .get(ApplicationConfig.ARGS))
        .containsEntry("x", 1);
    onlyProblem(Yaml.applicationProblems("args: &self {x: *self}"))
        .endsWith("*self inside its own anchor (expected: no mapping or list in itself)");
  }

  @Test
  void theFileIsReadInUtf8FromItsFolder() throws IOException {
    Path jar = Files.createFile(folder.resolve("shop.jar"));
    Path file = folder.resolve("conf/berth.yaml");
    Files.createDirectory(file.getParent());
    Files.writeString(
        file,
        "applications: [{name: Bücher, import_path: a.B, runtime_env: {jars: [../shop.jar]}}]");

    ApplicationConfig application = ConfigReader.read(file, List.of()).applications().get(0);

    assertThat(application.name()).isEqualTo("Bücher");
    assertThat(application.jars()).isEqualTo(List.of(jar.toAbsolutePath()));
  }

  @Test
  void aFileThatCannotBeReadSaysWhy() throws IOException {
    Path missing = folder.resolve("missing.yaml");
    assertThat(problem(missing))
        .isEqualTo(missing + ": no such file (expected: a YAML or JSON file)");
    assertThat(problem(folder)).startsWith(folder + ": cannot be read: ");

    Path latin = folder.resolve("latin.yaml");
    Files.write(latin, "applications: [] # Bücher".getBytes(StandardCharsets.ISO_8859_1));
    assertThat(problem(latin))
        .isEqualTo(latin + ": not UTF-8 (expected: a YAML or JSON file in UTF-8)");

    Path large = folder.resolve("large.yaml");
    Files.writeString(large, "applications: []\n" + "#".repeat(4 << 20));
    assertThat(problem(large))
        .isEqualTo(large + ": 4194321 bytes (expected: at most 4194304 bytes)");
  }

  @Test
  void theQuickstartIsValid() throws IOException {
    Files.createDirectories(folder.resolve("target"));
    Files.createFile(folder.resolve("target/berth-examples.jar")); // made later in the build
    Path copy = folder.resolve("conf/quickstart.yaml");
    Files.createDirectories(copy.getParent());
    Files.copy(Path.of("conf/quickstart.yaml"), copy);

    ServeConfig config = ConfigReader.read(copy, List.of());

    assertThat(config.applications())
        .extracting(ApplicationConfig::routePrefix)
        .containsExactly("/classify", "/echo", "/stream");
    assertThat(config.applications())
        .extracting(application -> application.get(ApplicationConfig.IMPORT_PATH).toString())
        .containsExactly(
            "dev.berth.examples.Quickstart:classify",
            "dev.berth.examples.Quickstart:echo",
            "dev.berth.examples.Quickstart:stream");
    assertThat(config.applications().get(1).deployment("echo"))
        .hasValueSatisfying(
            echo ->
                assertThat(echo.get(DeploymentConfig.SPREAD)).isEqualTo(HandlerSpread.EVENT_LOOPS));
  }

  private static String problem(Path file) {
    ConfigException refused =
        catchThrowableOfType(ConfigException.class, () -> ConfigReader.read(file, List.of()));
    return refused.getMessage();
  }
}
