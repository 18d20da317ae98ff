package dev.berth.routing.traffic;

import dev.berth.routing.traffic.RequestHead.RequestPart;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A rule whose requests go to one side whatever its weight.
 *
 * @param place part of the request that is tested
 * @param value required value, as written: {@code present}, or {@code exact}, {@code prefix} or
 *     {@code regex} and a text
 * @param holds tests a value; a regular expression must match the whole value, in time linear in
 *     its length (RE2's)
 * @param side side of such requests, as its place among the sides
 */
public record TrafficMatch(RequestPart place, String value, Predicate<String> holds, int side) {

  boolean takes(RequestHead head) {
    @Nullable String given = place.of(head);
    return given != null && holds.test(given);
  }
}
