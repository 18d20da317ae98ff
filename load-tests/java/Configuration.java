import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A configuration of Berth with one application, on free ports of the loopback.
 *
 * @param route prefix of its paths
 * @param builder of handlers.jar, as in {@code NoOp:build}
 * @param arguments the builder's, as YAML: {@code {body_bytes: 32}}
 * @param deployment whose handlers {@code spread} is about
 * @param spread single or event_loops
 * @param besides lines of other applications
 * @param own lines of {@code berth}; "" leaves them to the jar, which may not know them
 * @param certificate a PEM file with {@code key.pem} beside it, for TLS
 */
record Configuration(
    int loops,
    String route,
    String builder,
    String arguments,
    String deployment,
    String spread,
    String besides,
    String own,
    Optional<Path> certificate) {
  /** One request runs and one waits for as long as the rows take; the router refuses each other. */
  private static final String BUSY =
      """
        - name: busy
          route_prefix: /busy
          import_path: NoOp:busy
          runtime_env: {jars: [handlers.jar]}
          deployments:
            - {name: busy, max_queued_requests: 1, berth: {queue_timeout_s: 3600}}
      """;

  /** The no-op that answers with 32 bytes. */
  static Configuration noOp(int loops, String spread) {
    return new Configuration(
        loops, "/", "NoOp:build", "{}", "no-op", spread, "", "", Optional.empty());
  }

  /** The same with other code. */
  Configuration of(String otherBuilder, String otherArguments, String otherDeployment) {
    return new Configuration(
        loops,
        route,
        otherBuilder,
        otherArguments,
        otherDeployment,
        spread,
        besides,
        own,
        certificate);
  }

  /** The same at {@code /ok}, with a deployment at {@code /busy} whose queue can be filled. */
  Configuration besideBusy() {
    return new Configuration(
        loops, "/ok", builder, arguments, deployment, spread, BUSY, own, certificate);
  }

  /** The same with this line of {@code berth} too. */
  Configuration with(String line) {
    return new Configuration(
        loops,
        route,
        builder,
        arguments,
        deployment,
        spread,
        besides,
        "  " + line + "\n",
        certificate);
  }

  Configuration tls(Path pem) {
    return new Configuration(
        loops, route, builder, arguments, deployment, spread, besides, own, Optional.of(pem));
  }

  /** It is written to the folder that handlers.jar is in. */
  String text() {
    String tls =
        certificate
            .map(
                pem ->
                    ", ssl_certfile: "
                        + pem.getFileName()
                        + ", ssl_keyfile: "
                        + pem.resolveSibling("key.pem").getFileName())
            .orElse("");
    return Stream.of(
            "http_options: {host: 127.0.0.1, port: 0" + tls + "}",
            "applications:",
            "  - name: load-test",
            "    route_prefix: " + route,
            "    import_path: " + builder,
            "    runtime_env: {jars: [handlers.jar]}",
            "    args: " + arguments,
            "    deployments:",
            "      - name: " + deployment,
            "        berth: {spread: " + spread + "}",
            besides + "berth:",
            "  event_loops: " + loops,
            "  admin: {host: 127.0.0.1, port: 0}",
            own)
        .collect(Collectors.joining("\n"));
  }
}
