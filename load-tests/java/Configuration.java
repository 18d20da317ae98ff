import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A configuration of Berth with one application at {@code /}, on free ports of the loopback.
 *
 * @param builder of handlers.jar, as in {@code NoOp:build}
 * @param arguments the builder's, as YAML: {@code {body_bytes: 32}}
 * @param deployment whose handlers {@code spread} is about
 * @param spread single or event_loops
 * @param certificate a PEM file with {@code key.pem} beside it, for TLS
 */
record Configuration(
    int loops,
    String builder,
    String arguments,
    String deployment,
    String spread,
    Optional<Path> certificate) {

  /** The no-op that answers with 32 bytes. */
  static Configuration noOp(int loops, String spread) {
    return new Configuration(loops, "NoOp:build", "{}", "no-op", spread, Optional.empty());
  }

  /** The same with other code. */
  Configuration of(String otherBuilder, String otherArguments, String otherDeployment) {
    return new Configuration(
        loops, otherBuilder, otherArguments, otherDeployment, spread, certificate);
  }

  Configuration tls(Path pem) {
    return new Configuration(loops, builder, arguments, deployment, spread, Optional.of(pem));
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
            "    route_prefix: /",
            "    import_path: " + builder,
            "    runtime_env: {jars: [handlers.jar]}",
            "    args: " + arguments,
            "    deployments:",
            "      - name: " + deployment,
            "        berth: {spread: " + spread + "}",
            "berth:",
            "  event_loops: " + loops,
            "  admin: {host: 127.0.0.1, port: 0}",
            "")
        .collect(Collectors.joining("\n"));
  }
}
