package dev.berth.desired;

import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * The last applied configuration of an application or of the target capacity, as digests. A delete
 * and a rollback leave it unchanged. A start can therefore compare three configurations: its file's
 * previous one, its file's present one, and the last submitted one.
 *
 * @param start from the file that instances of this state start with; null for none
 * @param last from any submission; null for none
 * @param file URI of the file that submitted {@code last}; null for the start's file, or for none
 */
public record LastApplied(@Nullable String start, @Nullable String last, @Nullable String file) {

  /** Configuration that was never applied. */
  public static final LastApplied NOTHING = new LastApplied(null, null, null);

  /** Marker in place of a URI for the file that the instance was started with. */
  public static final String START = "start";

  /** Returns whether this file submitted the last configuration, as far as digests show. */
  boolean isLastOf(@Nullable String by) {
    return last != null
        && (file == null ? START.equals(by) && last.equals(start) : file.equals(by));
  }

  /** Returns the value for an instance that starts with this file, which may be {@code file}. */
  LastApplied startedWith(@Nullable String uri) {
    return file != null && file.equals(uri) ? new LastApplied(last, last, null) : this;
  }

  /** Returns the value after a start whose file contains this digest and declares nothing new. */
  LastApplied unchanged(String digest) {
    return digest.equals(start) ? this : new LastApplied(digest, last, null);
  }

  /**
   * Returns the value after a submission.
   *
   * @param by {@link #START}, the URI of another file, or null for a submission without one
   */
  public LastApplied submitted(String digest, @Nullable String by) {
    if (START.equals(by)) {
      return new LastApplied(digest, digest, null);
    }
    return new LastApplied(start, digest, by == null && digest.equals(last) ? file : by);
  }

  /**
   * Returns the value after a file, or a whole configuration without one, that omits it.
   *
   * @param prunes whether it is deleted regardless of its file
   */
  LastApplied leftOut(@Nullable String by, boolean prunes) {
    if (START.equals(by)) {
      return prunes || isLastOf(by) ? NOTHING : new LastApplied(null, last, file);
    }
    return isLastOf(by) ? new LastApplied(start, null, null) : this;
  }

  // --- persisted form ---

  JsonObject toJson() {
    JsonObject json = new JsonObject().put("start", start).put("last", last);
    return file == null ? json : json.put("file", file).put("digest", last);
  }

  static LastApplied of(JsonObject json) {
    String last = json.getString("last");
    // otherwise from an earlier submission
    boolean isOfFile = last != null && last.equals(json.getString("digest"));
    return new LastApplied(json.getString("start"), last, isOfFile ? json.getString("file") : null);
  }
}
