package dev.berth.web;

import java.util.Locale;
import java.util.regex.Pattern;

/** The media ranges of an Accept header. */
final class MediaRanges {
  private static final Pattern EXCLUDED =
      Pattern.compile(".*;\\s*q\\s*=\\s*0(\\.0*)?\\s*(;.*)?", Pattern.CASE_INSENSITIVE);

  private MediaRanges() {}

  /** Returns the type of a header value without its parameters, lower case. */
  static String typeOf(String value) {
    int end = value.indexOf(';');
    return (end < 0 ? value : value.substring(0, end)).strip().toLowerCase(Locale.ROOT);
  }

  /** Returns whether the most specific range of a media type has a quality above zero. */
  static boolean accept(String accept, String mediaType) {
    String type = typeOf(mediaType);
    String main = type.substring(0, type.indexOf('/') + 1);
    int best = -1;
    boolean accepted = false;
    for (String range : accept.split(",")) {
      String each = typeOf(range);
      int rank = each.equals(type) ? 2 : each.equals(main + "*") ? 1 : each.equals("*/*") ? 0 : -1;
      if (rank > best) {
        best = rank;
        accepted = !EXCLUDED.matcher(range).matches();
      }
    }
    return accepted;
  }
}
