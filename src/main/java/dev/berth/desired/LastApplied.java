package dev.berth.desired;

import io.vertx.core.json.JsonObject;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of an application or of the target capacity that was last applied, as digests.
 * A delete and a rollback leave it as it is, so that a start can compare three: what its file said
 * last, what it says now, and what was submitted last.
 *
 * @param start by the file that instances of this state start with; null for nothing
 * @param last by anyone; null for nothing
 * @param file the URI of the file that submitted {@code last}; null for the start's, or for none
 */
public record LastApplied(@Nullable String start, @Nullable String last, @Nullable String file) {

  /** Nothing was applied. */
  public static final LastApplied NOTHING = new LastApplied(null, null, null);

  /** In the place of a file's URI: the file that the instance was started with. */
  public static final String START = "start";

  /** Returns whether this file submitted it last, as far as digests tell. */
  boolean isLastOf(@Nullable String by) {
    return last != null
        && (file == null ? START.equals(by) && last.equals(start) : file.equals(by));
  }

  /** Returns the same for an instance that starts with this file, which may be {@code file}. */
  LastApplied startedWith(@Nullable String uri) {
    return file != null && file.equals(uri) ? new LastApplied(last, last, null) : this;
  }

  /** Returns the same where the file of a start says this, and nothing is different. */
  LastApplied unchanged(String digest) {
    return digest.equals(start) ? this : new LastApplied(digest, last, null);
  }

  /**
   * Returns the same after a submission.
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
   * Returns the same after a file, or a whole configuration without one, that leaves it out.
   *
   * @param prunes whether it is deleted, be it that file's or not
   */
  LastApplied leftOut(@Nullable String by, boolean prunes) {
    if (START.equals(by)) {
      return prunes || isLastOf(by) ? NOTHING : new LastApplied(null, last, file);
    }
    return isLastOf(by) ? new LastApplied(start, null, null) : this;
  }

  // --- as it is kept ---

  JsonObject toJson() {
    JsonObject json = new JsonObject().put("start", start).put("last", last);
    return file == null ? json : json.put("file", file).put("digest", last);
  }

  static LastApplied of(JsonObject json) {
    String last = json.getString("last");
    boolean isOfFile = last != null && last.equals(json.getString("digest")); // else of before it
    return new LastApplied(json.getString("start"), last, isOfFile ? json.getString("file") : null);
  }
}
