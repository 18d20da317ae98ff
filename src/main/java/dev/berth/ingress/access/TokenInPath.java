package dev.berth.ingress.access;

import java.util.regex.Pattern;

/** Removes reservation tokens from logged paths. */
final class TokenInPath {
  private static final Pattern TOKEN = Pattern.compile("(?<=/reservations/)[^/]{32,}");

  private TokenInPath() {}

  static String hidden(String path) {
    return path.contains("/reservations/") ? TOKEN.matcher(path).replaceAll("-") : path;
  }
}
