package dev.berth.metrics;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Meters of a route by the template that a handler's response names, such as {@code /items/:id}.
 * The number of templates is bounded; responses with further ones count for the route itself.
 * Confined to the event loop.
 */
public final class RouteTemplates {
  /** Response header with the template below the route prefix; clients do not receive it. */
  public static final String HEADER = "x-berth-route";

  private static final int MAX_LENGTH = 200;

  private final HttpMeters meters;
  private final RouteMeters route;
  private final int max;
  private final Map<String, RouteMeters> known = new HashMap<>();
  private String lastTemplate = ""; // of a handler of this instance, the same object each time
  private RouteMeters last;

  public RouteTemplates(HttpMeters meters, RouteMeters route, int max) {
    this.meters = meters;
    this.route = route;
    this.max = max;
    this.last = route;
  }

  /** Returns the meters for a template; null if the template is malformed or one too many. */
  public @Nullable RouteMeters of(String template) {
    if (template == lastTemplate) {
      return last;
    }
    RouteMeters found = known.get(template);
    if (found == null) {
      if (!isTemplate(template)) {
        return null;
      }
      if (isFull()) {
        meters.recordTemplateOverflow();
        return null;
      }
      found = meters.template(route, template);
      known.put(template, found);
    }
    lastTemplate = template;
    last = found;
    return found;
  }

  /** Returns whether no further template counts; a change of the route then begins again. */
  public boolean isFull() {
    return known.size() >= max;
  }

  private static boolean isTemplate(String template) {
    return template.startsWith("/")
        && template.length() <= MAX_LENGTH
        && template.chars().allMatch(each -> each > ' ' && each < 0x7f);
  }

  /** Returns the meters of the known templates. */
  public Collection<RouteMeters> all() {
    return known.values();
  }
}
