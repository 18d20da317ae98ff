package dev.berth.config;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.util.List;

/**
 * Keys of Ray Serve's file that have no counterpart in a JVM. A key without any observable effect
 * for requests and operators is checked and reported as a warning. A key whose absence could
 * mislead a user is refused. Source: Ray Serve's ServeDeploySchema.
 */
final class UnsupportedRayKeys {

  private static final String NO_PYTHON = "an application in Java needs no Python packages";
  private static final String ONE_MACHINE = "all replicas run in this process";
  private static final String SHARED = "replicas share the resources of this process";

  private UnsupportedRayKeys() {}

  // --- the file ---

  private static final Section GRPC_OPTIONS =
      Section.of(
          asRay("port", Types.PORT),
          asRay("grpc_servicer_functions", none(Types.list(Types.TEXT), "there is no gRPC server")),
          asRay("request_timeout_s", Types.SECONDS),
          asRay("enable_reflection", Types.BOOL));

  private static final Section CONTROLLER_OPTIONS =
      Section.of(asRay("runtime_env", Section.of(asRay("env_vars", Types.TEXT_MAP))));

  private static final Section TRACING_CONFIG =
      Section.of(
          asRay("enabled", Types.BOOL),
          asRay("exporter_import_path", Types.TEXT),
          asRay("sampling_ratio", Types.number(0, 1)));

  /** Keys of the file, in addition to {@link ServeConfig}. */
  static final Section FILE =
      Section.of(
          ConfigKey.noEffect("grpc_options", GRPC_OPTIONS, "there is no gRPC server"),
          ConfigKey.noEffect(
              "controller_options",
              CONTROLLER_OPTIONS,
              "the controller is part of this process and reads no environment"),
          ConfigKey.noEffect(
              "tracing_config",
              TRACING_CONFIG,
              "spans are not created; the header traceparent is passed on"));

  /** Keys of {@code http_options}, in addition to {@link HttpOptions}. */
  static final Section HTTP =
      Section.of(
              ConfigKey.noEffect(
                  "num_cpus", Types.NUMBER_FROM_ZERO, "the HTTP server is part of this process"))
          .refuse("middlewares", "requests would bypass them")
          .refuse(
              "ssl_keyfile_password",
              "encrypted keys are not supported; openssl pkcs8 -topk8 -nocrypt decrypts one")
          .misplaced("location", "proxy_location");

  // --- applications ---

  /** Keys of {@code runtime_env}, in addition to {@code jars}. */
  static final Section RUNTIME_ENV =
      Section.of(
              ConfigKey.noEffect("py_modules", Types.ANY, NO_PYTHON),
              ConfigKey.noEffect("py_executable", Types.ANY, NO_PYTHON),
              ConfigKey.noEffect("pip", Types.ANY, NO_PYTHON),
              ConfigKey.noEffect("uv", Types.ANY, NO_PYTHON),
              ConfigKey.noEffect("conda", Types.ANY, NO_PYTHON),
              ConfigKey.noEffect("excludes", Types.ANY, "nothing is uploaded"),
              ConfigKey.noEffect("config", Types.ANY, "there is no environment to set up"))
          .refuse("working_dir", "the process keeps its own; name code in jars, data by its path")
          .refuse("env_vars", "all applications share the environment of the process; use args")
          .refuse("image_uri", "applications run in this process, not in a container")
          .refuse("container", "applications run in this process, not in a container");

  // --- deployments ---

  private static final Section RAY_ACTOR_OPTIONS =
      Section.of(
          ConfigKey.optional(
                  "runtime_env", RUNTIME_ENV.misplaced("jars", "applications[].runtime_env.jars"))
              .means("Requirements of a deployment's code; jars belong to the application."),
          ConfigKey.noEffect("num_cpus", Types.NUMBER_FROM_ZERO, SHARED),
          ConfigKey.noEffect(
              "num_gpus",
              Types.NUMBER_FROM_ZERO,
              "no GPU is assigned or reserved; handlers select theirs"),
          ConfigKey.noEffect("memory", Types.NUMBER_FROM_ZERO, SHARED),
          ConfigKey.noEffect("resources", Types.FREE_MAP, SHARED),
          ConfigKey.noEffect("accelerator_type", Types.TEXT, ONE_MACHINE),
          ConfigKey.noEffect("label_selector", Types.TEXT_MAP, ONE_MACHINE),
          ConfigKey.noEffect("fallback_strategy", Types.list(Types.FREE_MAP), ONE_MACHINE));

  private static final String NOT_PLACED = "there are no placement groups: " + ONE_MACHINE;

  /** Keys of deployments, in addition to {@link DeploymentConfig}. */
  static final Section DEPLOYMENT =
      Section.of(
              ConfigKey.optional("ray_actor_options", RAY_ACTOR_OPTIONS)
                  .reaches(ChangeReach.NOTHING)
                  .means("Resources of a replica; in Berth replicas share those of the process."),
              ConfigKey.noEffect(
                  "graceful_shutdown_wait_loop_s",
                  Types.SECONDS_OR_ZERO,
                  "a replica stops as soon as its last request has ended"),
              ConfigKey.noEffect("placement_group_bundles", Types.list(Types.FREE_MAP), NOT_PLACED),
              ConfigKey.noEffect(
                  "placement_group_strategy",
                  Types.choice(List.of("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")),
                  NOT_PLACED),
              ConfigKey.noEffect(
                  "placement_group_bundle_label_selector", Types.list(Types.TEXT_MAP), NOT_PLACED),
              ConfigKey.optional(
                      "deployment_actors",
                      none(Types.list(Types.FREE_MAP), "nothing would start them"))
                  .reaches(ChangeReach.NOTHING)
                  .means("Only [], Ray Serve's default."))
          .refuse("gang_scheduling_config", "replicas start and stop one by one")
          .misplaced("max_concurrent_queries", "max_ongoing_requests");

  private static <T> ConfigKey<T> asRay(String name, Type<T> type) {
    return ConfigKey.optional(name, type).means("As in Ray Serve.");
  }

  /** Returns a type that permits only an empty list; a non-empty one would mislead if ignored. */
  private static <T> Type<List<T>> none(Type<List<T>> list, String why) {
    Schema empty = Schema.of("array").with("maxItems", 0);
    return new Type.RestrictedType<>(list, List::isEmpty, "[]", Section.NOT_SUPPORTED + why, empty);
  }
}
