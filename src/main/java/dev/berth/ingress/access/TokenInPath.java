package dev.berth.ingress.access;

import java.util.regex.Pattern;

/** Takes the token of a reservation out of a path that is logged, wherever that was sent. */
final class TokenInPath {
  private static final String BEFORE = "/reservations/";
  private static final Pattern TOKEN = Pattern.compile("(?<=/reservations/)[^/]{32,}");

  private TokenInPath() {}

  static String hidden(String path) {
    return path.contains(BEFORE) ? TOKEN.matcher(path).replaceAll("-") : path;
  }
}
