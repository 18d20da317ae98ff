package dev.berth.protocol;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** How a number crosses the bus between instances, where it is no varint. */
@Target(ElementType.RECORD_COMPONENT)
@Retention(RetentionPolicy.RUNTIME)
public @interface Wire {
  /** Instead of a varint. */
  Form value();

  /** The other ways to write a number. */
  enum Form {
    /** Zigzag: a duration, or -1 for none in one byte. */
    SIGNED,
    /** 8 bytes: random bits, which a varint would only lengthen. */
    FIXED
  }
}
