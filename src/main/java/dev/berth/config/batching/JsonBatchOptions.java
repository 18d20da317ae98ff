package dev.berth.config.batching;

import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import org.jspecify.annotations.Nullable;

/** {@code berth.batch} of a deployment with upstreams: the form of a batch at the upstream. */
public final class JsonBatchOptions {
  private static final Keys KEYS = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<String> PATH =
      KEYS.required("path", Types.string("a path that starts with /, in ASCII", "^/[!\"$-~]*$"))
          .means("Path of the request with a batch, after path_prefix.");
  public static final ConfigKey<Boolean> JSON_ARRAY =
      KEYS.required("json_array", Types.TRUE)
          .means(
              "Form of a batch. The upstream receives one JSON array of all bodies, and responds with"
                  + " an array of results.");

  public static final Section SECTION = KEYS.section();

  /** Returns the rules of batches that have none of their own; null without batches. */
  public static @Nullable Settings usualRules(@Nullable Settings batch) {
    return batch == null ? null : BatchingOptions.SECTION.empty();
  }

  private JsonBatchOptions() {}
}
