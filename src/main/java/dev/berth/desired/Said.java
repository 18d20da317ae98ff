package dev.berth.desired;

import io.vertx.core.json.JsonObject;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What was last said of an application or of the target capacity, as digests. It outlives a delete,
 * and a rollback leaves it as it is, so that a start can tell what its file says anew from what it
 * has said before.
 *
 * @param start by the file that instances of this state start with; null for nothing
 * @param other by another file, later than {@code start}; null for nothing
 * @param last by anyone; null for nothing
 */
public record Said(@Nullable String start, @Nullable By other, @Nullable String last) {

  /** Nothing. */
  public static final Said NOTHING = new Said(null, null, null);

  /** In the place of a file's URI: the file that the instance was started with. */
  public static final String START = "start";

  /**
   * By a file that no instance started with when it was deployed.
   *
   * @param file {@code file://host/real/path}
   */
  public record By(String file, String digest) {}

  /**
   * What the file of a start last said: as such, or when it was deployed as another.
   *
   * @param file its URI; null when it has none
   */
  public @Nullable String by(@Nullable String file) {
    return other != null && other.file.equals(file) ? other.digest : start;
  }

  /** Whether this file said what was submitted last, as far as digests tell. */
  boolean isLastOf(@Nullable String file) {
    boolean of = other == null ? Said.START.equals(file) : other.file.equals(file);
    return of && last != null && last.equals(other == null ? start : other.digest);
  }

  /** A file that named it leaves it out, and it stays: somebody else speaks of it. */
  Said keptWithout(@Nullable String file) {
    return START.equals(file)
        ? new Said(null, other, last)
        : other != null && other.file.equals(file) ? new Said(start, null, last) : this;
  }

  /** The file of a start says it, and it stays what it is. */
  public Said noted(@Nullable String digest) {
    return new Said(digest, null, last);
  }

  /**
   * Somebody submits it.
   *
   * @param file {@link #START}, the URI of another, or null: then only that it was said is known
   */
  public Said submitted(String digest, @Nullable String file) {
    return file == null
        ? new Said(start, other, digest)
        : file.equals(START)
            ? new Said(digest, null, digest)
            : new Said(start, new By(file, digest), digest);
  }

  /** A whole configuration leaves it out: who has named it takes it back, others delete it. */
  Said leftOut(@Nullable String file) {
    return START.equals(file)
        ? NOTHING
        : other != null && other.file.equals(file) ? new Said(start, null, null) : this;
  }

  // --- as it is kept ---

  JsonObject toJson() {
    JsonObject json = new JsonObject().put("start", start).put("last", last);
    return other == null ? json : json.put("file", other.file).put("digest", other.digest);
  }

  static Said of(JsonObject json) {
    String file = json.getString("file");
    By other = file == null ? null : new By(file, Objects.requireNonNull(json.getString("digest")));
    return new Said(json.getString("start"), other, json.getString("last"));
  }
}
