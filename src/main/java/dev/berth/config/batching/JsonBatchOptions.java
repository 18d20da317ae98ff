package dev.berth.config.batching;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;

/** {@code berth.batch} of a deployment with upstreams: the form of a batch at the upstream. */
public final class JsonBatchOptions {
  private static final Keys KEYS = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<String> PATH =
      KEYS.required("path", Types.string("a path that starts with /, in ASCII", "^/[!\"$-~]*$"))
          .means("Path of the request with a batch, after path_prefix.");
  public static final ConfigKey<Boolean> JSON_ARRAY =
      KEYS.required("json_array", Types.BOOL)
          .means(
              "true, the only form: the bodies are sent as one JSON array, and the response is an"
                  + " array with a result for each.");

  public static final Section SECTION = KEYS.section().check(JsonBatchOptions::check);

  private static void check(Settings batch) {
    if (Boolean.FALSE.equals(batch.find(JSON_ARRAY))) {
      batch.problem(JSON_ARRAY, "false", "true");
    }
  }

  private JsonBatchOptions() {}
}
