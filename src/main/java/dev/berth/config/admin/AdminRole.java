package dev.berth.config.admin;

/** {@code berth.admin.bearer_tokens[].role}: permissions of a client of the admin server. */
public enum AdminRole {
  /** Reads everything but the contents of jars; changes nothing and sends no request. */
  VIEWER,
  /** Reads and changes everything. */
  OPERATOR
}
