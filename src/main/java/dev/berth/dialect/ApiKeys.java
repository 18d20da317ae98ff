package dev.berth.dialect;

import dev.berth.config.InstanceOptions;
import dev.berth.config.builtin.OpenAiOptions;
import dev.berth.config.keys.Settings;
import dev.berth.net.tls.SecretFiles;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The keys of clients, each as the SHA-256 of its text. Immutable and thread-safe. A look-up takes
 * the same time for every key: it compares all.
 */
public final class ApiKeys {
  /** Maximum number of keys, which bounds the time of a look-up. */
  public static final int MAX_KEYS = 1_000;

  /** Permission to use all models, in place of their names. */
  public static final String ALL_MODELS = "*";

  private static final int MAX_FILE_BYTES = 4 << 20;
  private static final Pattern ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");
  private static final Pattern LINE =
      Pattern.compile("\\s*(\\S+)\\s+([0-9A-Fa-f]{64})\\s+(\\S+)\\s*");
  private static final Pattern BEARER = Pattern.compile("(?i)bearer +(\\S+) *");

  /**
   * A key.
   *
   * @param id for logs and metrics
   * @param models names or aliases of the models that it may use
   */
  public record ApiKey(String id, Set<String> models) {
    public ApiKey {
      models = Set.copyOf(models);
    }

    /** Returns whether the key may use a model. */
    public boolean permits(ModelTarget target) {
      return models.contains(ALL_MODELS)
          || models.contains(target.name())
          || models.contains(target.requested());
    }
  }

  private final Map<byte[], ApiKey> all; // by their digests

  private ApiKeys(Map<byte[], ApiKey> all) {
    this.all = all;
  }

  /**
   * Returns the keys of an instance. Null if it serves clients without keys. An instance that has
   * no keys and must not serve anyone has an empty set, which permits no client. Blocks on disk
   * access.
   *
   * @param settings of the instance's file
   * @throws IllegalArgumentException when the file of keys is unusable
   */
  public static @Nullable ApiKeys of(Settings settings) {
    String file = settings.find(OpenAiOptions.API_KEYS_FILE);
    if (file != null) {
      return read(settings.find(InstanceOptions.SECRETS_DIR), file);
    }
    return InstanceOptions.servesAnyone(settings) ? null : new ApiKeys(Map.of());
  }

  /**
   * Reads a file of keys. Blocks on disk access.
   *
   * @param directory {@code berth.secrets_dir}; null when unset
   * @param name of the file, relative to the directory
   * @throws IllegalArgumentException when the file is missing, accessible to others or invalid
   */
  public static ApiKeys read(@Nullable Path directory, String name) {
    Map<byte[], ApiKey> keys = new LinkedHashMap<>();
    Set<Object> seen = new HashSet<>();
    SecretFiles.lines(directory, name, MAX_FILE_BYTES)
        .forEach(
            (number, line) -> {
              Matcher parts = LINE.matcher(line);
              Set<String> models =
                  parts.matches()
                      ? Set.copyOf(Arrays.asList(parts.group(3).split(",", -1)))
                      : Set.of();
              if (models.isEmpty() || !areModels(models) || !isId(parts.group(1))) {
                throw SecretFiles.unusable(
                    name, "line " + number, "ID SHA256 MODELS, as berth key new prints it");
              }
              String hash = parts.group(2).toLowerCase(Locale.ROOT);
              if (!seen.add(parts.group(1)) | !seen.add(hash)) {
                throw SecretFiles.unusable(name, "line " + number, "each id and each key once");
              }
              keys.put(HexFormat.of().parseHex(hash), new ApiKey(parts.group(1), models));
            });
    if (keys.isEmpty() || keys.size() > MAX_KEYS) {
      throw SecretFiles.unusable(name, keys.size() + " keys", "1 to " + MAX_KEYS);
    }
    return new ApiKeys(keys);
  }

  /** Returns whether a text may be the id of a key. */
  public static boolean isId(String text) {
    return ID.matcher(text).matches();
  }

  /** Returns whether names may be the models of a key: {@link #ALL_MODELS} alone, or names. */
  public static boolean areModels(Set<String> models) {
    return models.equals(Set.of(ALL_MODELS))
        || models.stream().allMatch(OpenAiOptions.MODEL_NAME::allows);
  }

  /** Returns the line of the file for a key. */
  public static String line(String id, String key, List<String> models) {
    return id + " " + HexFormat.of().formatHex(sha256(key)) + " " + String.join(",", models);
  }

  /**
   * Returns the key that a client presents; null for none.
   *
   * @param authorization value of this header; null for none
   * @param apiKey value of {@code x-api-key}; null for none
   */
  public static @Nullable String presented(
      @Nullable String authorization, @Nullable String apiKey) {
    Matcher bearer = authorization == null ? null : BEARER.matcher(authorization);
    return bearer != null && bearer.matches() ? bearer.group(1) : apiKey;
  }

  /** Returns the key of a presented text; null for an unknown one. */
  public @Nullable ApiKey lookup(String presented) {
    byte[] hash = sha256(presented);
    ApiKey found = null;
    for (Map.Entry<byte[], ApiKey> each : all.entrySet()) {
      found = MessageDigest.isEqual(hash, each.getKey()) ? each.getValue() : found;
    }
    return found;
  }

  private static byte[] sha256(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible); // every JVM has it
    }
  }
}
