package dev.berth.protocol;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The wire form of a record component between instances, where it differs from the default of the
 * component's type.
 */
@Target(ElementType.RECORD_COMPONENT)
@Retention(RetentionPolicy.RUNTIME)
public @interface Wire {
  /** The wire form. */
  WireForm value();

  /**
   * Marks a record as an id or an address. Within another record it is written without a length
   * prefix, and it never gains a component: a peer that reads only some components would confuse
   * two ids.
   */
  @Target(ElementType.TYPE)
  @Retention(RetentionPolicy.RUNTIME)
  @interface WireKey {}

  /** The wire forms of numbers, and the omitted form. */
  enum WireForm {
    /** Zigzag encoding: a duration, or -1 for none in one byte. */
    SIGNED,
    /**
     * The form of {@link #SIGNED} for the remaining time at sending. The reader subtracts the
     * transit time.
     */
    LEFT,
    /** A fixed length of 8 bytes: random bits, which a varint would only lengthen. */
    FIXED,
    /**
     * A number of slots, 1 to 65 535, as the last component of a message. 1 is omitted: the reader
     * finds the end of the message there.
     */
    COST,
    /** A {@link SlotDemand} in the place and form of {@link #COST}. */
    DEMAND,
    /** Omitted: the value equals the deployment that precedes it in the same message. */
    TOLD
  }
}
