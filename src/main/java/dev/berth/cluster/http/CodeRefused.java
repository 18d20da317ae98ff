package dev.berth.cluster.http;

/** Code cannot be had, and asking again does not help. Expected, so without a stack. */
final class CodeRefused extends RuntimeException {
  private static final long serialVersionUID = 1;

  CodeRefused(String message) {
    super(message, null, false, false);
  }
}
