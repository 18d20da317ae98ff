package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.process.NodeHandle;
import dev.berth.config.AdminOptions;
import dev.berth.config.ConfigException;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.MetricsOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.BindException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CommandLineTest {

  private static final String RAYS = "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S";
  private static final CompletionStage<String> STOP_AT_ONCE =
      CompletableFuture.completedFuture("SIGTERM");

  private final AtomicReference<ServeConfig> started = new AtomicReference<>();
  private final Map<String, String> variables = new HashMap<>(); // of the environment
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir Path folder;
  private String valid;
  private String wrong;

  @BeforeEach
  void writeFiles() throws IOException {
    valid = file("valid.yaml", "http_options: {host: h, port: 1}\napplications: []\n");
    wrong = file("wrong.yaml", "http_options: {port: \"1\"}\nfoo: 1\napplications: []\n");
  }

  @Test
  void validateAcceptsAValidFile() {
    assertThat(execute("validate", valid)).isZero();
    assertThat(execute("validate", "--json", valid)).isZero();
    assertThat(out).hasToString(valid + ": valid, 0 applications\n[ ]\n");
    assertThat(err).hasToString("");
  }

  @Test
  void validatePrintsEveryProblemAndExitsWithTwo() {
    assertThat(execute("validate", wrong)).isEqualTo(2);
    assertThat(out).hasToString("");
    assertThat(err.toString().lines())
        .containsExactly(
            wrong
                + ":1:22: http_options.port: \"1\", a string"
                + " (expected: an integer from 0 to 65535)",
            wrong
                + ":2:1: foo: unknown key (expected: one of http_options, logging_config,"
                + " applications, berth, proxy_location, target_capacity)",
            "2 problems");
  }

  @Test
  void validateGivesProblemsAsJsonOnStandardOutput() {
    assertThat(execute("validate", wrong, "--json")).isEqualTo(2);
    assertThat(err).hasToString("");
    assertThat(new JsonArray(out.toString()))
        .hasSize(2)
        .first()
        .isEqualTo(
            new JsonObject(
                """
                {"severity": "error", "file": "%s", "line": 1, "column": 22,
                 "path": "http_options.port", "value": "\\"1\\", a string",
                 "expected": "an integer from 0 to 65535"}
                """
                    .formatted(wrong)));
  }

  @Test
  void validateLooksForTheBuildersOfAllApplications() throws IOException {
    String file =
        file(
            "shops.yaml",
            """
            applications:
              - {name: a, route_prefix: /a, import_path: com.acme.Shop}
              - {name: b, route_prefix: /b, import_path: com.acme.Cart:make, args: {}}
            """);

    assertThat(execute("validate", file)).isEqualTo(2);
    assertThat(err.toString().lines())
        .containsExactly(
            file
                + ":2:46: applications[0].import_path: com.acme.Shop:build: no such class"
                + " (expected: a class of Berth; runtime_env.jars is empty)",
            file
                + ":3:46: applications[1].import_path: com.acme.Cart:make: no such class"
                + " (expected: a class of Berth; runtime_env.jars is empty)",
            "2 problems");
  }

  @Test
  void validateReadsTheFilesOfTls() throws Exception {
    X509Bundle own =
        new CertificateBuilder()
            .subject("CN=own")
            .setIsCertificateAuthority(true)
            .buildSelfSigned();
    String certificate = file("own.pem", own.getCertificatePEM());
    String key = file("key.pem", own.getPrivateKeyPEM());
    String encrypted = file("encrypted.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHs\n");
    String tls =
        """
        http_options: {ssl_certfile: %1$s, ssl_keyfile: %2$s}
        berth:
          cluster:
            {name: c, node: n1, role: control, control: ['n1@127.0.0.1:7420'],
              bind: 127.0.0.1, tls: {cert_file: %1$s, key_file: %2$s, ca_file: %1$s}}
        applications: []
        """;
    String refused =
        encrypted
            + ", an encrypted key (expected: one without a password, as made by: openssl pkcs8"
            + " -topk8 -nocrypt -in "
            + encrypted
            + " -out plain.pem)";

    execute("validate", file("tls.yaml", tls.formatted(certificate, key)));
    assertThat(err).hasToString("");
    String wrong = file("encrypted.yaml", tls.formatted(certificate, encrypted));
    assertThat(execute("validate", wrong, "--set=http_options.ssl_keyfile=" + encrypted))
        .isEqualTo(2);
    assertThat(err.toString().lines())
        .containsExactly(
            "--set: http_options.ssl_keyfile: " + refused,
            wrong
                + ":5:%s: berth.cluster.tls.key_file: ".formatted(53 + certificate.length())
                + refused,
            "2 problems");
  }

  @Test
  void validateReadsTheFilesOfSecretsThatExistHere() throws IOException {
    String text =
        """
        http_options: {host: 127.0.0.1}
        berth: {secrets_dir: %s, openai: {api_keys_file: keys}}
        applications:
        - name: llm
          import_path: berth:openai
          args: {models: [{name: m, deployment: d}]}
          deployments:
          - {name: d, berth: {upstreams: [
              {url: 'https://a', max_ongoing_requests: 1},
              {url: 'https://b', max_ongoing_requests: 1, headers_file: b.headers}]}}
        """;
    String elsewhere = file("elsewhere.yaml", text.formatted("none"));
    assertThat(execute("validate", elsewhere)).isZero();

    String here = file("here.yaml", text.formatted("."));
    Files.setPosixFilePermissions(
        Path.of(file("keys", "alice\n")), PosixFilePermissions.fromString("rw-------"));
    assertThat(execute("validate", here)).isEqualTo(2);
    assertThat(err.toString().lines())
        .containsExactly(
            here
                + ":2:49: berth.openai.api_keys_file: keys: line 1 (expected: ID SHA256 MODELS, as"
                + " berth key new prints it)",
            here
                + ":10:65: applications[0].deployments[0].berth.upstreams[1].headers_file: b.headers:"
                + " NoSuchFileException (expected: a readable file below berth.secrets_dir)",
            "2 problems");
  }

  @Test
  void aWarningLeavesTheFileValid() throws IOException {
    String file = file("warned.yaml", "logging_config: {logs_dir: l}\napplications: []\n");
    String warning =
        file
            + ":1:18: warning: logging_config.logs_dir: has no effect: the log goes to standard"
            + " error (expected: leave it out)\n";

    assertThat(execute("validate", file)).isZero();
    assertThat(err).hasToString(warning);
    assertThat(out).hasToString(file + ": valid, 0 applications\n");

    err.getBuffer().setLength(0);
    out.getBuffer().setLength(0);
    assertThat(execute("validate", "--json", file)).isZero();
    assertThat(new JsonArray(out.toString()).getJsonObject(0).getString("severity"))
        .isEqualTo("warning");
    assertThat(err).hasToString("");
    assertThat(execute("run", file)).isZero();
    assertThat(err).hasToString(warning);
    assertThat(started.get().warnings()).hasSize(1);
  }

  @Test
  void warningsAreCountedBesideProblems() throws IOException {
    String file = file("both.yaml", "logging_config: {logs_dir: l}\napplications: {}\n");

    assertThat(execute("validate", file)).isEqualTo(2);
    assertThat(err.toString()).endsWith("\n1 problem, 1 warning\n");
  }

  @Test
  void runStartsTheFileAndStopsOnTheSignal() {
    assertThat(execute("run", valid)).isZero();
    assertThat(started.get().get(HttpOptions.HOST)).isEqualTo("h");
    assertThat(started.get().get(HttpOptions.PORT)).isEqualTo(1);
    assertThat(started.get().get(AdminOptions.PORT)).isEqualTo(8265);
    assertThat(err).hasToString("");
  }

  @Test
  void optionsOfRunWinOverTheFile() {
    String[] options = {"--host", "a", "--port=0", "--admin-host=localhost", "--admin-port", "2"};
    assertThat(run(options)).isZero();
    assertThat(started.get().get(HttpOptions.HOST)).isEqualTo("a");
    assertThat(started.get().get(HttpOptions.PORT)).isZero();
    assertThat(started.get().get(AdminOptions.HOST)).isEqualTo("localhost");
    assertThat(started.get().get(AdminOptions.PORT)).isEqualTo(2);
  }

  @Test
  void runWithoutAFileWaitsForDeploys() {
    assertThat(execute("run", "--state-dir", "s", "--port=0")).isZero();
    assertThat(started.get().applications()).isEmpty();
    assertThat(started.get().get(InstanceOptions.STATE_DIR))
        .isEqualTo(Path.of("s").toAbsolutePath());
    assertThat(started.get().get(InstanceOptions.EPHEMERAL)).isFalse();
    assertThat(execute("run", "--ephemeral")).isZero();
    assertThat(started.get().get(InstanceOptions.EPHEMERAL)).isTrue();
    assertThat(execute("run", "--set", "http_options.port=x")).isEqualTo(2);
    assertThat(execute("validate")).isEqualTo(2);
  }

  @Test
  void anAdminServerForOtherMachinesWantsAToken() {
    assertThat(execute("run", valid, "--admin-host", "0.0.0.0")).isEqualTo(2);
    assertThat(err.toString())
        .contains("--admin-host: berth.admin.host: \"0.0.0.0\"")
        .contains("allow_unauthenticated");
    assertThat(started.get()).isNull();
  }

  @Test
  void runStartsNothingWhenTheFileHasProblems() {
    assertThat(execute("run", wrong)).isEqualTo(2);
    assertThat(err.toString()).contains("http_options.port").contains("foo: unknown key");
    assertThat(started).hasNullValue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--port=http", "--admin-port=", "--prot=1", "--set"})
  void aWrongOptionIsWrongUsage(String option) {
    assertThat(execute("run", valid, option)).isEqualTo(2);
    assertThat(err.toString()).contains("Usage: berth run");
    assertThat(started).hasNullValue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--port=65536 | --port: http_options.port: 65536 (expected: an integer from 0 to 65535)",
        "--admin-port=-1 | --admin-port: berth.admin.port: -1 (expected: an integer from 0 to"
            + " 65535)",
        "--host= | --host: http_options.host: \"\" (expected: a non-empty string on one line)",
        "--set=http_options.prot=1 | --set: http_options.prot: unknown key, did you mean port?",
        "--set=http_options | --set: http_options: no value (expected: key=value, with a key such as applications.shop.name)"
      })
  void aProblemWithAnOptionNamesIt(String option, String problem) {
    assertThat(execute("run", valid, option)).isEqualTo(2);
    assertThat(err.toString()).startsWith(problem);
    assertThat(started).hasNullValue();
  }

  @Test
  void setWinsOverTheFileAndTheOptionsOverSet() {
    String[] set = {"--set=http_options.port=2", "--set", "http_options.host=s", "--port=4"};
    assertThat(run(set)).isZero();
    assertThat(started.get().get(HttpOptions.PORT)).isEqualTo(4);
    assertThat(started.get().get(HttpOptions.HOST)).isEqualTo("s");
  }

  @ParameterizedTest
  @CsvSource({
    "10, , , 10000",
    "10, 1.5, , 1500",
    ", 1.5, --set=berth.metrics.push_interval_ms=700, 700",
    ", ' ', , 1000"
  })
  void ourVariableWinsOverRaysAndTheCommandLineOverBoth(
      @Nullable String rays, @Nullable String ours, @Nullable String set, long milliseconds) {
    variables.put(RAYS, rays);
    variables.put(RAYS.replace("RAY_SERVE", "BERTH"), ours);
    assertThat(set == null ? run() : run(set)).isZero();
    assertThat(started.get().get(MetricsOptions.PUSH_INTERVAL_MS)).hasMillis(milliseconds);
  }

  @Test
  void aVariableThatIsNoTimeIsRefusedByItsName() {
    variables.put(RAYS, "soon");
    assertThat(run()).isEqualTo(2);
    assertThat(err.toString()).contains(RAYS).contains("berth.metrics.push_interval_ms: ");
    assertThat(started).hasNullValue();
  }

  @Test
  void validateTakesSettingsToo() {
    assertThat(execute("validate", valid, "--set", "http_options.port=-1")).isEqualTo(2);
    assertThat(err.toString()).startsWith("--set: http_options.port: -1 (expected: ");
  }

  @Test
  void noCommandOrAnUnknownOneIsWrongUsage() {
    assertThat(execute()).isEqualTo(2);
    assertThat(err.toString())
        .startsWith(
            "Missing command: one of run, dev, new, validate, deploy, status, config, scale, autoscaling, history, traffic, rollback,"
                + " logs, ledger, upstream, key, explain, shutdown, drain, cluster, schema, completion");
    assertThat(execute("serve")).isEqualTo(2);
    assertThat(execute("validate")).isEqualTo(2);
    assertThat(execute("validate", valid, valid)).isEqualTo(2);
  }

  @Test
  void aNodeThatCannotStartIsAFailureWithItsReason() {
    Future<NodeHandle> failed =
        Future.failedFuture(new IOException("port 1", new BindException("in use")));

    assertThat(execute((config, stop) -> failed, STOP_AT_ONCE, "run", valid)).isEqualTo(1);
    assertThat(err).hasToString("berth: cannot start: port 1: in use\n");
  }

  @Test
  void aBugAtTheStartShowsItsStack() {
    BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start =
        (config, stop) -> {
          throw new IllegalStateException("broken");
        };

    assertThat(execute(start, STOP_AT_ONCE, "run", valid)).isEqualTo(1);
    assertThat(err.toString())
        .startsWith("berth: cannot start: broken\n")
        .contains("\tat dev.berth.cli.CommandLineTest");
  }

  @Test
  void whatOnlyTheApplicationsCodeCanTellIsAConfigurationProblemToo() {
    ConfigProblem problem =
        new ConfigProblem(valid, 0, 0, "applications[0].deployments[0].name", "x", "y");

    assertThat(
            execute(
                (config, stop) -> Future.failedFuture(new ConfigException(List.of(problem))),
                STOP_AT_ONCE,
                "run",
                valid))
        .isEqualTo(2);
    assertThat(err).hasToString(problem + "\n");
  }

  @Test
  void aDrainThatFailsOrTakesTooLongIsAFailure() throws IOException {
    String hasty = file("hasty.yaml", "applications: []\nberth: {shutdown_timeout_s: 0.01}\n");
    for (Future<Void> end :
        List.of(Future.<Void>failedFuture("no"), Promise.<Void>promise().future())) {
      NodeHandle ill = closing(() -> end);
      assertThat(execute((config, stop) -> Future.succeededFuture(ill), STOP_AT_ONCE, "run", hasty))
          .isEqualTo(1);
    }
  }

  @Test
  void theNodeRunsUntilTheSignal() throws Exception {
    CompletableFuture<String> signal = new CompletableFuture<>();
    CompletableFuture<Void> running = new CompletableFuture<>();
    CompletableFuture<Void> closed = new CompletableFuture<>();
    NodeHandle node =
        closing(
            () -> {
              closed.complete(null);
              return Future.succeededFuture();
            });
    CompletableFuture<Integer> exit =
        CompletableFuture.supplyAsync(
            () ->
                execute(
                    (config, stop) -> {
                      running.complete(null);
                      return Future.succeededFuture(node);
                    },
                    signal,
                    "run",
                    valid),
            command -> new Thread(command).start());

    running.get();
    assertThat(closed).isNotDone();
    assertThat(exit).isNotDone();
    signal.complete("SIGINT");

    assertThat(exit.get()).isZero();
    assertThat(closed).isDone();
  }

  @Test
  void aSignalEndsAStartThatIsNotOver() {
    CompletableFuture<String> signal = new CompletableFuture<>();
    signal.complete("SIGTERM");
    int exit =
        execute(
            (config, stop) ->
                Future.fromCompletionStage(stop)
                    .compose(by -> Future.failedFuture(new IOException(by + " came"))),
            signal,
            "run",
            valid);
    assertThat(exit).isEqualTo(1);
    assertThat(err).hasToString("berth: cannot start: SIGTERM came\n");
  }

  @Test
  void schemaPrintsTheJsonSchemaOfAFile() {
    assertThat(execute("schema")).isZero();
    assertThat(new JsonObject(out.toString())).isEqualTo(new JsonObject(ServeConfig.schema()));
  }

  @Test
  void newRefusesOtherNamesAndTwoVariants() {
    for (String name : List.of("", "Shop", "1shop", "-", "shop-", "a--b", "a/b", "..", "a b")) {
      assertThat(execute("new", "--", name)).as(name).isEqualTo(2);
    }
    assertThat(execute("new", "shop", "--kotlin", "--gradle")).isEqualTo(2);
  }

  @Test
  void devRefusesFilesWithoutAProjectAndFilesWithProblems() throws IOException {
    assertThat(execute("dev", file("no-project.yaml", "applications: []\n"))).isEqualTo(2);
    assertThat(err.toString()).contains("no project (expected: pom.xml or build.gradle ");
    file("pom.xml", "");
    assertThat(execute("dev", file("broken.yaml", "applications: [\n"))).isEqualTo(2);
    assertThat(execute("dev", file("missing.yaml", "") + ".no")).isEqualTo(2);
    assertThat(started.get()).isNull();
  }

  @Test
  void versionNamesBerthAndJava() {
    assertThat(execute("--version")).isZero();
    assertThat(out.toString()).startsWith("berth ").endsWith(" (Java " + Runtime.version() + ")\n");
  }

  private int run(String... options) {
    return execute(
        Stream.of(List.of("run", valid), List.of(options))
            .flatMap(List::stream)
            .toArray(String[]::new));
  }

  private int execute(String... args) {
    return execute(
        (config, stop) -> {
          started.set(config);
          return Future.succeededFuture(closing(Future::succeededFuture));
        },
        STOP_AT_ONCE,
        args);
  }

  private static NodeHandle closing(Supplier<Future<Void>> close) {
    return new NodeHandle(close, Promise.<String>promise().future(), 8000, 8265);
  }

  private int execute(
      BiFunction<ServeConfig, CompletionStage<String>, Future<NodeHandle>> start,
      CompletionStage<String> stop,
      String... args) {
    CliEnvironment process = CliEnvironment.ofProcess(() -> stop);
    CliEnvironment around =
        new CliEnvironment(
            false,
            variables::get,
            process.answer(),
            process.nanoClock(),
            process.pause(),
            process.stopSignal());
    return Main.commandLine(start, around, args)
        .setOut(new PrintWriter(out, true))
        .setErr(new PrintWriter(err, true))
        .execute(args);
  }

  private String file(String name, String text) throws IOException {
    return Files.writeString(folder.resolve(name), text).toString();
  }
}
