package dev.berth.routing.traffic;

import org.jspecify.annotations.Nullable;

/** What a {@link TrafficPolicy} reads of a request. */
@FunctionalInterface
public interface RequestHead {

  /** Where in a request a value stands. */
  enum Part {
    /** The first header of a name, in whatever case. */
    HEADER,
    /** A cookie. */
    COOKIE,
    /** The first query parameter of a name, decoded. */
    QUERY,
    /** A segment of the path, the name being its number from 1. */
    PATH,
    /** The HTTP method; it has no name. */
    METHOD
  }

  /**
   * What is looked at of a request.
   *
   * @param name as {@link #get} takes it
   */
  record Place(Part part, String name) {
    @Nullable String of(RequestHead head) {
      return head.get(part, name);
    }

    @Override
    public String toString() {
      return (part + " " + name).strip();
    }
  }

  /**
   * The value of a part; null when the request has none.
   *
   * @param name of the header, cookie or parameter; the number of the segment; else empty
   */
  @Nullable String get(Part part, String name);

  /** Of {@code /a/b} the first is {@code a}; null where there are fewer. */
  static @Nullable String segment(String path, int number) {
    String[] segments = path.split("/", number + 2);
    return number < segments.length ? segments[number] : null;
  }
}
