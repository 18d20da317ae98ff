package dev.berth.dialect;

import dev.berth.protocol.port.HttpErrorResponse;
import org.jspecify.annotations.Nullable;

/** A refusal of a request that did not run, with the parameter that caused it. No stack trace. */
public final class DialectProblem extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient HttpErrorResponse response;
  private final @Nullable String param;

  public DialectProblem(int status, String code, String message, @Nullable String param) {
    super(message, null, false, false);
    this.response = new HttpErrorResponse(status, code, message, "The request did not run.");
    this.param = param;
  }

  public HttpErrorResponse response() {
    return response;
  }

  /** Returns the parameter of the request that caused the refusal, if one did. */
  public @Nullable String param() {
    return param;
  }
}
