package dev.berth.routing.traffic;

import org.jspecify.annotations.Nullable;

/** The parts of a request that a {@link TrafficPolicy} reads. */
@FunctionalInterface
public interface RequestHead {

  /** Kind of a part of the request. */
  enum RequestPartKind {
    /** The first header of a name, ignoring case. */
    HEADER,
    /** A cookie. */
    COOKIE,
    /** The first query parameter of a name, decoded. */
    QUERY,
    /** A segment of the path; its name is its number from 1. */
    PATH,
    /** The HTTP method; it has no name. */
    METHOD
  }

  /**
   * A tested part of a request.
   *
   * @param name as for {@link #get}
   */
  record RequestPart(RequestPartKind part, String name) {
    @Nullable String of(RequestHead head) {
      return head.get(part, name);
    }

    @Override
    public String toString() {
      return (part + " " + name).strip();
    }
  }

  /**
   * Returns the value of a part; null if the request has none.
   *
   * @param name name of the header, cookie or parameter; number of the segment; otherwise empty
   */
  @Nullable String get(RequestPartKind part, String name);

  /**
   * Returns a segment of a path, from 1: the first of {@code /a/b} is {@code a}; null if there are
   * fewer.
   */
  static @Nullable String segment(String path, int number) {
    String[] segments = path.split("/", number + 2);
    return number < segments.length ? segments[number] : null;
  }
}
