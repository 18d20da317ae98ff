package dev.berth.dialect;

import dev.berth.protocol.port.HttpErrorResponse;
import org.jspecify.annotations.Nullable;

/** A refusal of a request that did not run, with the parameter that caused it. No stack trace. */
public final class DialectProblem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final String code;
  private final String words;
  private final @Nullable String param;

  public DialectProblem(int status, String code, String message, @Nullable String param) {
    super(message, null, false, false);
    this.status = status;
    this.code = code;
    this.words = message;
    this.param = param;
  }

  public HttpErrorResponse response() {
    return new HttpErrorResponse(status, code, words, "The request did not run.");
  }

  public String code() {
    return code;
  }

  /** Returns the parameter of the request that caused the refusal, if one did. */
  public @Nullable String param() {
    return param;
  }
}
