package dev.berth.replica;

import dev.berth.api.RequestContext;
import dev.berth.replica.log.RequestLogFields;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.AbstractLogger;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * A logger whose lines carry the fields of their request as key-value pairs. The fields are passed
 * with each line, so that they are correct on every thread, also on threads of user code.
 */
final class RequestLogger extends AbstractLogger {
  private static final long serialVersionUID = 1L;
  private static final String CALLER = RequestLogger.class.getName();

  private final transient Logger log;
  private final transient RequestContext request;

  RequestLogger(Logger log, RequestContext request) {
    this.name = log.getName();
    this.log = log;
    this.request = request;
  }

  @Override
  public LoggingEventBuilder makeLoggingEventBuilder(Level level) {
    LoggingEventBuilder line = log.makeLoggingEventBuilder(level);
    RequestLogFields.of(request, line::addKeyValue);
    return line;
  }

  @Override
  protected void handleNormalizedLoggingCall(
      Level level,
      @Nullable Marker marker,
      String pattern,
      Object @Nullable [] arguments,
      @Nullable Throwable thrown) {
    LoggingEventBuilder line = makeLoggingEventBuilder(level);
    if (line instanceof org.slf4j.spi.CallerBoundaryAware aware) {
      aware.setCallerBoundary(AbstractLogger.class.getName());
    }
    if (marker != null) {
      line = line.addMarker(marker);
    }
    if (thrown != null) {
      line = line.setCause(thrown);
    }
    if (arguments == null) {
      line.log(pattern);
    } else {
      line.log(pattern, arguments);
    }
  }

  @Override
  protected String getFullyQualifiedCallerName() {
    return CALLER;
  }

  // --- levels of the deployment's logger ---

  @Override
  public boolean isTraceEnabled() {
    return log.isTraceEnabled();
  }

  @Override
  public boolean isTraceEnabled(Marker marker) {
    return log.isTraceEnabled(marker);
  }

  @Override
  public boolean isDebugEnabled() {
    return log.isDebugEnabled();
  }

  @Override
  public boolean isDebugEnabled(Marker marker) {
    return log.isDebugEnabled(marker);
  }

  @Override
  public boolean isInfoEnabled() {
    return log.isInfoEnabled();
  }

  @Override
  public boolean isInfoEnabled(Marker marker) {
    return log.isInfoEnabled(marker);
  }

  @Override
  public boolean isWarnEnabled() {
    return log.isWarnEnabled();
  }

  @Override
  public boolean isWarnEnabled(Marker marker) {
    return log.isWarnEnabled(marker);
  }

  @Override
  public boolean isErrorEnabled() {
    return log.isErrorEnabled();
  }

  @Override
  public boolean isErrorEnabled(Marker marker) {
    return log.isErrorEnabled(marker);
  }
}
