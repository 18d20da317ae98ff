package dev.berth.protocol;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** How a component crosses the bus between instances, where it is not as its type says. */
@Target(ElementType.RECORD_COMPONENT)
@Retention(RetentionPolicy.RUNTIME)
public @interface Wire {
  /** Instead. */
  Form value();

  /**
   * An id or an address: within another record it has no length in front, and it never gets another
   * component, since one that is known in part would be taken for another.
   */
  @Target(ElementType.TYPE)
  @Retention(RetentionPolicy.RUNTIME)
  @interface Key {}

  /** The other ways: to write a number, and not to. */
  enum Form {
    /** Zigzag: a duration, or -1 for none in one byte. */
    SIGNED,
    /** As SIGNED: how long from when it was sent. Its way is taken off where it is read. */
    LEFT,
    /** 8 bytes: random bits, which a varint would only lengthen. */
    FIXED,
    /** Not at all: the deployment that was told last in the message. */
    TOLD
  }
}
