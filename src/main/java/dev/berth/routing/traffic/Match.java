package dev.berth.routing.traffic;

import dev.berth.routing.traffic.RequestHead.Place;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Requests that go to one side whatever its weight.
 *
 * @param place what is looked at
 * @param value what it must be, as written: {@code present}, or {@code exact}, {@code prefix} or
 *     {@code regex} and a text
 * @param holds whether a value is that; of a regular expression as a whole, in time linear in its
 *     length (RE2's)
 * @param side where such requests go, by its place among the sides
 */
public record Match(Place place, String value, Predicate<String> holds, int side) {

  boolean takes(RequestHead head) {
    @Nullable String given = place.of(head);
    return given != null && holds.test(given);
  }
}
